#include "bench/compare/onednn_matmul.hpp"

#include <utility>

namespace mla_prolog::bench {
namespace {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

Dims dims_of(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  return shape.count == 1 ? Dims{rows, columns} : Dims{shape.count, rows, columns};
}

#if DNNL_VERSION_MAJOR < 3
Type data_type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }
#else
Type data_type_of(const dnnl::memory::desc& desc) { return desc.get_data_type(); }
#endif

dnnl::memory::desc strided(const MatmulShape& shape, std::int64_t columns, Type type, std::int64_t row,
                           std::int64_t matrix) {
  const Dims strides = shape.count == 1 ? Dims{row, 1} : Dims{matrix, row, 1};
  return {dims_of(shape, shape.rows, columns), type, strides};
}

dnnl::matmul::primitive_desc describe(const dnnl::memory::desc& source, const dnnl::memory::desc& weights,
                                      const dnnl::memory::desc& result) {
  dnnl::primitive_attr attributes;
  const bool offset = data_type_of(source) == Type::u8;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  if (offset) attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
  return {onednn_engine(), source, weights, result, attributes};
#else
  if (offset) attributes.set_zero_points(DNNL_ARG_SRC, 0, {kByteOffset});
  return {dnnl::matmul::desc(source, weights, result), attributes, onednn_engine()};
#endif
}

}  // namespace

dnnl::engine& onednn_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  static dnnl::stream stream(onednn_engine());
  return stream;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

std::optional<OnednnMatmul> OnednnMatmul::make(const MatmulShape& shape) {
  try {
    return OnednnMatmul(shape);
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

OnednnMatmul::OnednnMatmul(const MatmulShape& shape) {
  const Dims weight_dims = dims_of(shape, shape.k, shape.columns);
  plain_weights_ = {weight_dims, shape.weight_type, shape.count == 1 ? Tag::ab : Tag::abc};
  const auto source = strided(shape, shape.k, shape.source_type, shape.source_row, shape.source_matrix);
  const auto result = strided(shape, shape.columns, shape.result_type, shape.result_row, shape.result_matrix);
  const auto description = describe(source, {weight_dims, shape.weight_type, Tag::any}, result);
  primitive_ = dnnl::matmul(description);
  implementation_ = description.impl_info_str();
  weights_desc_ = description.weights_desc();
  source_ = {description.src_desc(), onednn_engine(), nullptr};
  weights_ = {weights_desc_, onednn_engine(), nullptr};
  result_ = {description.dst_desc(), onednn_engine(), nullptr};
  scratch_ = std::make_shared<Memory>(description.scratchpad_desc().get_size());
  scratchpad_ = {description.scratchpad_desc(), onednn_engine(), scratch_->data()};
  arguments_ = {{DNNL_ARG_SRC, source_},
                {DNNL_ARG_WEIGHTS, weights_},
                {DNNL_ARG_DST, result_},
                {DNNL_ARG_SCRATCHPAD, scratchpad_}};
#if DNNL_VERSION_MAJOR >= 3
  if (shape.source_type == Type::u8) {
    dnnl::memory offset({{1}, Type::s32, Tag::x}, onednn_engine());
    *static_cast<std::int32_t*>(offset.get_data_handle()) = kByteOffset;
    arguments_.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, offset);
  }
#endif
}

Memory OnednnMatmul::prepack(const void* weights) const {
  Memory packed(weights_desc_.get_size());
  dnnl::memory from(plain_weights_, onednn_engine(), const_cast<void*>(weights));
  dnnl::memory to(weights_desc_, onednn_engine(), packed.data());
  dnnl::reorder(from, to).execute(onednn_stream(), from, to);
  onednn_stream().wait();
  return packed;
}

void OnednnMatmul::run(const void* source, const void* weights, void* result) {
  source_.set_data_handle(const_cast<void*>(source));
  weights_.set_data_handle(const_cast<void*>(weights));
  result_.set_data_handle(result);
  primitive_.execute(onednn_stream(), arguments_);
  onednn_stream().wait();
}

}  // namespace mla_prolog::bench
