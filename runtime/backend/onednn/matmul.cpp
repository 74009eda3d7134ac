#include "runtime/backend/onednn/matmul.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace mla_prolog::onednn {
namespace {

using dnnl::memory;

// oneDNN asks OpenMP for its number of threads, when it makes a primitive and when it runs one. The calling thread's
// answer is one here, and what it was afterwards.
class OneThread {
 public:
#if defined(_OPENMP)
  OneThread() noexcept : threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(threads_); }
#else
  OneThread() noexcept = default;
  ~OneThread() = default;
#endif
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  [[maybe_unused]] int threads_ = 1;
};

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type operand_type(Type type) {
  switch (type) {
    case Type::s8:
      return memory::data_type::s8;
    case Type::bf16:
      return memory::data_type::bf16;
    case Type::f32:
      return memory::data_type::f32;
  }
  return memory::data_type::undef;
}

memory::data_type result_type(Type type) { return type == Type::s8 ? memory::data_type::s32 : memory::data_type::f32; }

memory::desc dense(std::int64_t rows, std::int64_t columns, memory::data_type type) {
  return {{rows, columns}, type, memory::format_tag::ab};
}

dnnl::matmul::primitive_desc primitive_desc(const Shape& shape, std::int64_t tokens, const memory::desc& weights) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const memory::desc left = dense(tokens, shape.k, operand_type(shape.type));
  const memory::desc results = dense(tokens, shape.columns, result_type(shape.type));
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), left, weights, results, attributes};
#else
  return {dnnl::matmul::desc(left, weights, results), attributes, cpu()};
#endif
}

// A primitive for one number of tokens.
struct Primitive {
  dnnl::matmul matmul;
  memory::desc left;
  memory::desc results;
  memory::desc scratch;

  explicit Primitive(const dnnl::matmul::primitive_desc& desc)
      : matmul(desc), left(desc.src_desc()), results(desc.dst_desc()), scratch(desc.scratchpad_desc()) {}
};

class DnnlMatmul final : public Matmul {
 public:
  explicit DnnlMatmul(const Shape& shape)
      : Matmul(shape), plain_(dense(shape.k, shape.columns, operand_type(shape.type))) {
    const memory::desc any({shape.k, shape.columns}, operand_type(shape.type), memory::format_tag::any);
    const dnnl::matmul::primitive_desc highest = primitive_desc(shape, shape.max_tokens, any);
    weights_ = highest.weights_desc();
    implementation_ = highest.impl_info_str();
    primitives_.emplace_back(highest);
    if (shape.max_tokens > 1) primitives_.emplace_back(primitive_desc(shape, shape.max_tokens - 1, weights_));
    for (const Primitive& primitive : primitives_) {
      scratch_bytes_ = std::max(scratch_bytes_, primitive.scratch.get_size());
    }
  }

  const std::string& implementation() const noexcept override { return implementation_; }

  // Only the blocked kernels work in the scratchpad they are given; the others go through oneDNN's gemm, which packs
  // both operands into memory of its own.
  bool allocates() const noexcept override { return !std::string_view(implementation_).starts_with("brg"); }

  std::size_t prepared_bytes() const noexcept override { return weights_.get_size(); }

  bool same_form(const Matmul& other) const noexcept override {
    return weights_ == static_cast<const DnnlMatmul&>(other).weights_;
  }

  bool prepare(const void* weights, std::byte* prepared) const noexcept override {
    try {
      const OneThread one_thread;
      memory from(plain_, cpu(), const_cast<void*>(weights));
      memory to(weights_, cpu(), prepared);
      dnnl::stream stream(cpu());
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
      return true;
    } catch (...) {
      return false;
    }
  }

  std::size_t scratch_bytes() const noexcept override { return scratch_bytes_; }

  bool multiply(std::int64_t tokens, const void* left, const std::byte* prepared, void* results,
                std::byte* scratch) const noexcept override {
    if (!takes(tokens)) return false;
    const Primitive& primitive = primitives_[tokens == shape().max_tokens ? 0 : 1];
    try {
      const OneThread one_thread;
      const memory src(primitive.left, cpu(), const_cast<void*>(left));
      const memory weights(weights_, cpu(), const_cast<std::byte*>(prepared));
      const memory dst(primitive.results, cpu(), results);
      const memory pad(primitive.scratch, cpu(), scratch);
      const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, src.get()},
                                           {DNNL_ARG_WEIGHTS, weights.get()},
                                           {DNNL_ARG_DST, dst.get()},
                                           {DNNL_ARG_SCRATCHPAD, pad.get()}};
      dnnl::stream stream(cpu());
      if (dnnl_primitive_execute(primitive.matmul.get(), stream.get(), 4, arguments) != dnnl_success) return false;
      return dnnl_stream_wait(stream.get()) == dnnl_success;
    } catch (...) {
      return false;
    }
  }

 private:
  memory::desc plain_;
  memory::desc weights_;
  std::string implementation_;
  std::vector<Primitive> primitives_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

MadeMatmul make_matmul(const Shape& shape) {
  try {
    const OneThread one_thread;
    return {std::make_shared<DnnlMatmul>(shape), {}};
  } catch (const std::exception& error) {
    return {nullptr, std::string("oneDNN has no ") + name(shape.type) + " matmul here (" + error.what() + ")"};
  }
}

}  // namespace mla_prolog::onednn
