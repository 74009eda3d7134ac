#include "bench/compare/onednn_pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "bench/support/clock.hpp"
#include "mla_prolog/convert.hpp"

namespace mla_prolog::bench {
namespace {

using Type = dnnl::memory::data_type;
using kernels::bf16_t;

constexpr std::int64_t size_of(Type type) {
  return type == Type::bf16 ? 2 : type == Type::f32 || type == Type::s32 ? 4 : 1;
}

bool is_byte(Type type) { return type == Type::s8 || type == Type::u8; }

Memory room(std::int64_t elements, std::int64_t element_bytes) {
  Memory memory(static_cast<std::size_t>(elements * element_bytes));
  std::memset(memory.data(), 0, memory.size());
  return memory;
}

const char* name_of(Type type) {
  switch (type) {
    case Type::bf16:
      return "bf16";
    case Type::f32:
      return "f32";
    case Type::s8:
      return "s8";
    default:
      return "u8";
  }
}

// bf16 to float32 where a variant wants that; codes and bf16 stay.
Memory in_type(Type type, const Memory& values, DType dtype) {
  if (type != Type::f32) {
    Memory copy(values.size());
    std::memcpy(copy.data(), values.data(), values.size());
    return copy;
  }
  const std::size_t count = values.size() / element_size(dtype);
  Memory wide(count * sizeof(float));
  decode(dtype, values.data(), count, wide.as<float>());
  return wide;
}

// A FRACTAL_NZ weight as columns [first, first + n) of a row-major matrix with `columns` columns.
void unpack(const TensorDesc& desc, const void* nz, std::int64_t k, std::int64_t n, const Memory& to,
            std::int64_t columns, std::int64_t first) {
  const auto bytes = static_cast<std::int64_t>(element_size(desc.dtype));
  const Memory dense = room(k * n, bytes);
  const TensorView plain{TensorDesc::dense(desc.dtype, {k, n}), dense.data()};
  if (!format_cast({desc, nz}, plain).ok()) throw std::logic_error("format_cast refused a weight");
  for (std::int64_t i = 0; i < k; ++i) {
    std::memcpy(to.data() + (i * columns + first) * bytes, dense.data() + i * n * bytes,
                static_cast<std::size_t>(n * bytes));
  }
}

}  // namespace

std::string PipelineTypes::name() const {
  if (projection == query) return name_of(projection);
  return std::string(name_of(projection)) + "+" + name_of(query);
}

PlainWeights plain_weights(const Problem& problem, const Layer& layer, const Tensors& tensors,
                           const PipelineTypes& types) {
  const DType dtype = problem.weight_dq.dtype;
  const auto bytes = static_cast<std::int64_t>(element_size(dtype));
  const std::int64_t columns = layer.hcq + kDkvColumns;
  const Memory down = room(layer.he * columns, bytes);
  unpack(problem.weight_dq, tensors.weight_dq, layer.he, layer.hcq, down, columns, 0);
  unpack(problem.weight_dkv_kr, tensors.weight_dkv_kr, layer.he, kDkvColumns, down, columns, layer.hcq);
  const Memory up = room(layer.hcq * layer.uq_columns(), bytes);
  unpack(problem.weight_uq_qr, tensors.weight_uq_qr, layer.hcq, layer.uq_columns(), up, layer.uq_columns(), 0);
  const Memory uk = room(layer.n * layer.d * kHckv, sizeof(bf16_t));
  std::memcpy(uk.data(), tensors.weight_uk, uk.size());
  return {in_type(types.projection, down, dtype), in_type(types.projection, up, dtype),
          in_type(types.query, uk, DType::bf16)};
}

void PackedWeight::fit(const OnednnMatmul& matmul, const Memory& plain, std::size_t copies) {
  if (form_ && *form_ == matmul.weights_desc()) return;
  copies_.clear();
  form_ = matmul.weights_desc();
  copies_.push_back(matmul.prepack(plain.data()));
  while (copies_.size() < copies) {
    Memory copy(copies_[0].size());
    std::memcpy(copy.data(), copies_[0].data(), copy.size());
    copies_.push_back(std::move(copy));
  }
}

OnednnPipeline::OnednnPipeline(const Layer& layer, const PipelineTypes& types, const kernels::RowKernels& rows,
                               int threads, const Tensors& tensors, PackedWeights& packed, std::size_t copies)
    : layer_(layer),
      types_(types),
      rows_(rows),
      threads_(threads),
      tensors_(tensors),
      packed_(packed),
      copies_(copies),
      x_(tensors.token_x) {
  const std::int64_t t = layer.tokens;
  const std::int64_t result_bytes = types.projection == Type::bf16 ? 2 : 4;
  const std::int64_t width = std::max({layer.hcq, kDkvColumns, layer.d + kDr});
  m_ = room(t * (layer.hcq + kDkvColumns), result_bytes);
  cq_ = room(t * layer.hcq, size_of(types.projection));
  cq_scales_ = room(t, sizeof(float));
  q_ = room(t * layer.uq_columns(), result_bytes);
  qc_ = room(is_byte(types.projection) ? t * layer.n * layer.d : 0, size_of(types.query));
  query_ = room(t * layer.n * kHckv, sizeof(bf16_t));
  query_rope_ = room(t * layer.n * kDr, sizeof(bf16_t));
  kv_cache_ = room(t * kHckv, sizeof(bf16_t));
  kr_cache_ = room(t * kDr, sizeof(bf16_t));
  scratch_ = room(threads * 2 * width, sizeof(float));
  const bool as_is = types.projection == Type::bf16 || types.projection == Type::s8;
  if (!as_is) {
    converted_x_ = room(t * layer.he, size_of(types.projection));
    x_ = converted_x_.data();
  }
}

std::optional<OnednnPipeline> OnednnPipeline::make(const Layer& layer, const PipelineTypes& types,
                                                   const kernels::RowKernels& rows, int threads, const Tensors& tensors,
                                                   const PlainWeights& plain, PackedWeights& packed,
                                                   std::size_t copies) {
  OnednnPipeline pipeline(layer, types, rows, threads, tensors, packed, copies);
  const Type weight = types.projection == Type::u8 ? Type::s8 : types.projection;
  const Type result = is_byte(types.projection) ? Type::s32 : types.projection;
  const auto projection = [&](std::int64_t k, std::int64_t columns) {
    return OnednnMatmul::make({.rows = layer.tokens,
                               .k = k,
                               .columns = columns,
                               .source_type = types.projection,
                               .weight_type = weight,
                               .result_type = result,
                               .source_row = k,
                               .result_row = columns});
  };
  pipeline.down_ = projection(layer.he, layer.hcq + kDkvColumns);
  pipeline.up_ = projection(layer.hcq, layer.uq_columns());
  // q^C lies in the results of weight_uq_qr, or after dequantisation alone.
  const std::int64_t head = is_byte(types.projection) ? layer.d : layer.d + kDr;
  const auto query = [&](Type type) {
    return OnednnMatmul::make({.count = layer.n,
                               .rows = layer.tokens,
                               .k = layer.d,
                               .columns = kHckv,
                               .source_type = types.query,
                               .weight_type = types.query,
                               .result_type = type,
                               .source_row = layer.n * head,
                               .source_matrix = head,
                               .result_row = layer.n * kHckv,
                               .result_matrix = kHckv});
  };
  pipeline.uk_ = query(types.query);
  if (!pipeline.down_ || !pipeline.up_ || !pipeline.uk_) return std::nullopt;
  pipeline.float_queries_ = types.query == Type::f32;
  if (pipeline.float_queries_) pipeline.qn_ = room(layer.tokens * layer.n * kHckv, sizeof(float));
  packed.down.fit(*pipeline.down_, plain.down, copies);
  packed.up.fit(*pipeline.up_, plain.up, copies);
  packed.uk.fit(*pipeline.uk_, plain.uk, copies);
  return pipeline;
}

std::string OnednnPipeline::implementations() const {
  std::set<std::string> names{down_->implementation(), up_->implementation(), uk_->implementation()};
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

double OnednnPipeline::run() {
  at_ = (at_ + 1) % copies_;
  return seconds_of([&] {
    if (x_ == converted_x_.data()) convert_tokens();
    down_->run(x_, packed_.down.copy(at_), m_.data());
    finish_rows();
    up_->run(cq_.data(), packed_.up.copy(at_), q_.data());
    finish_heads();
    uk_->run(int8() ? qc_.data() : q_.data(), packed_.uk.copy(at_), float_queries_ ? qn_.data() : query_.data());
    if (float_queries_) finish_queries();
  });
}

template <typename Body>
void OnednnPipeline::for_each_token(Body&& body) const {
  const std::size_t width = scratch_.size() / sizeof(float) / static_cast<std::size_t>(threads_);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads_) schedule(static)
#endif
  for (int part = 0; part < threads_; ++part) {
    float* const own = scratch_.as<float>() + static_cast<std::size_t>(part) * width;
    const std::int64_t end = layer_.tokens * (part + 1) / threads_;
    for (std::int64_t t = layer_.tokens * part / threads_; t < end; ++t) body(t, own, own + width / 2);
  }
}

bool OnednnPipeline::int8() const { return is_byte(types_.projection); }

void OnednnPipeline::convert_tokens() {
  const std::int64_t he = layer_.he;
  for_each_token([&](std::int64_t t, float*, float*) {
    if (types_.projection == Type::f32) {
      rows_.widen_bf16(static_cast<const bf16_t*>(tensors_.token_x) + t * he, he, converted_x_.as<float>() + t * he);
      return;
    }
    const auto* codes = static_cast<const std::uint8_t*>(tensors_.token_x) + t * he;
    for (std::int64_t i = 0; i < he; ++i) converted_x_.as<std::uint8_t>()[t * he + i] = codes[i] ^ 0x80;
  });
}

const float* OnednnPipeline::widened(std::int64_t t, const void* m, std::int64_t count, const float* token_scale,
                                     const void* channel_scales, std::int64_t channel, float* out) const {
  if (types_.projection == Type::f32) return static_cast<const float*>(m);
  if (types_.projection == Type::bf16) {
    rows_.widen_bf16(static_cast<const bf16_t*>(m), count, out);
  } else {
    rows_.dequant_int32(static_cast<const std::int32_t*>(m), count, token_scale[t],
                        static_cast<const float*>(channel_scales) + channel, layer_.token_first(), out);
  }
  return out;
}

void OnednnPipeline::finish_rows() {
  const std::int64_t row_bytes = (layer_.hcq + kDkvColumns) * (types_.projection == Type::bf16 ? 2 : 4);
  const std::int64_t latent = layer_.hcq * (types_.projection == Type::bf16 ? 2 : 4);
  const std::int64_t hcq = layer_.hcq;
  for_each_token([&](std::int64_t t, float* projected, float* normed) {
    const std::byte* m = m_.data() + t * row_bytes;
    const float* cq = widened(t, m, hcq, static_cast<const float*>(tensors_.dequant_scale_x),
                              tensors_.dequant_scale_w_dq, 0, projected);
    float* to = types_.projection == Type::f32 ? cq_.as<float>() + t * hcq : normed;
    rows_.rms_norm(cq, hcq, 1.0F / static_cast<float>(hcq), layer_.epsilon_cq,
                   static_cast<const bf16_t*>(tensors_.rmsnorm_gamma_cq), 1.0F, false, to);
    if (types_.projection == Type::bf16) rows_.round_to_bf16(normed, hcq, cq_.as<bf16_t>() + t * hcq);
    if (int8()) {
      std::uint8_t* codes = cq_.as<std::uint8_t>() + t * hcq;
      rows_.dynamic_quant(layer_.cq_kind, normed, nullptr, hcq, codes, cq_scales_.as<float>() + t);
      if (types_.projection == Type::u8) {
        for (std::int64_t i = 0; i < hcq; ++i) codes[i] ^= 0x80;
      }
    }
    finish_latent(t, m + latent, projected, normed);
  });
}

void OnednnPipeline::finish_latent(std::int64_t t, const void* m, float* projected, float* normed) {
  const float* latent = widened(t, m, kDkvColumns, static_cast<const float*>(tensors_.dequant_scale_x),
                                tensors_.dequant_scale_w_dkv_kr, 0, projected);
  rows_.rms_norm(latent, kHckv, 1.0F / static_cast<float>(kHckv), layer_.epsilon_ckv,
                 static_cast<const bf16_t*>(tensors_.rmsnorm_gamma_ckv), 1.0F, false, normed);
  const std::int64_t slot = static_cast<const std::int64_t*>(tensors_.cache_index)[t];
  rows_.round_to_bf16(normed, kHckv, kv_cache_.as<bf16_t>() + slot * kHckv);
  rows_.rope(latent + kHckv, static_cast<const bf16_t*>(tensors_.rope_sin) + t * kDr,
             static_cast<const bf16_t*>(tensors_.rope_cos) + t * kDr, kr_cache_.as<bf16_t>() + slot * kDr);
}

void OnednnPipeline::finish_heads() {
  const std::int64_t columns = layer_.d + kDr;
  const std::int64_t bytes = types_.projection == Type::bf16 ? 2 : 4;
  for_each_token([&](std::int64_t t, float* projected, float*) {
    for (std::int64_t h = 0; h < layer_.n; ++h) {
      const std::int64_t at = t * layer_.n + h;
      const std::byte* m = q_.data() + at * columns * bytes;
      const float* z = projected + layer_.d;
      if (int8()) {
        widened(t, m, columns, cq_scales_.as<float>(), tensors_.dequant_scale_w_uq_qr, h * columns, projected);
        if (types_.query == Type::f32) {
          std::memcpy(qc_.as<float>() + at * layer_.d, projected, static_cast<std::size_t>(layer_.d) * sizeof(float));
        } else {
          rows_.round_to_bf16(projected, layer_.d, qc_.as<bf16_t>() + at * layer_.d);
        }
      } else {
        z = widened(t, m + layer_.d * bytes, kDr, nullptr, nullptr, 0, projected);
      }
      rows_.rope(z, static_cast<const bf16_t*>(tensors_.rope_sin) + t * kDr,
                 static_cast<const bf16_t*>(tensors_.rope_cos) + t * kDr, query_rope_.as<bf16_t>() + at * kDr);
    }
  });
}

void OnednnPipeline::finish_queries() {
  const std::int64_t row = layer_.n * kHckv;
  for_each_token([&](std::int64_t t, float*, float*) {
    rows_.round_to_bf16(qn_.as<float>() + t * row, row, query_.as<bf16_t>() + t * row);
  });
}

}  // namespace mla_prolog::bench
