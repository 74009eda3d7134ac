// The prolog as one writes it on top of a matmul library: whole-matrix matmuls of oneDNN with passes over the rows
// between them. Primitives and scratchpads are made once, weights lie in the form that oneDNN prefers, copies in
// rotation; the row passes use this project's kernels on all threads. For scenarios w0kv0 and w2kv0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/compare/onednn_matmul.hpp"
#include "bench/support/data.hpp"
#include "kernels/row_kernels.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::bench {

// Operand types of a variant. Results: int32 for 8-bit projections, else the same type.
struct PipelineTypes {
  dnnl::memory::data_type projection;  // of token_x, c^Q and their weights: bf16, f32, s8, u8
  dnnl::memory::data_type query;       // of q^C and weight_uk: bf16, f32
  std::string name() const;
};

// Dense row-major weights in a variant's types.
struct PlainWeights {
  Memory down;  // [He][Hcq + 576]: weight_dq and weight_dkv_kr side by side
  Memory up;    // [Hcq][N * (D + 64)]
  Memory uk;    // [N][D][512]
};
PlainWeights plain_weights(const Problem& problem, const Layer& layer, const Tensors& tensors,
                           const PipelineTypes& types);

// One weight as oneDNN wants it, in copies; kept while the wanted form stays the same.
class PackedWeight {
 public:
  void fit(const OnednnMatmul& matmul, const Memory& plain, std::size_t copies);
  const void* copy(std::size_t i) const { return copies_[i].data(); }

 private:
  std::optional<dnnl::memory::desc> form_;
  std::vector<Memory> copies_;
};

struct PackedWeights {
  PackedWeight down, up, uk;
};

class OnednnPipeline {
 public:
  // Empty where oneDNN lacks the types. `packed` is brought to the form that this number of tokens wants.
  static std::optional<OnednnPipeline> make(const Layer& layer, const PipelineTypes& types,
                                            const kernels::RowKernels& rows, int threads, const Tensors& tensors,
                                            const PlainWeights& plain, PackedWeights& packed, std::size_t copies);

  // One call with the next copy of the weights; seconds.
  double run();
  // bf16 [T][N][512] of the last call.
  const kernels::bf16_t* query() const { return query_.as<kernels::bf16_t>(); }
  std::string implementations() const;

 private:
  OnednnPipeline(const Layer& layer, const PipelineTypes& types, const kernels::RowKernels& rows, int threads,
                 const Tensors& tensors, PackedWeights& packed, std::size_t copies);

  template <typename Body>
  void for_each_token(Body&& body) const;
  bool int8() const;
  void convert_tokens();
  void finish_rows();
  void finish_latent(std::int64_t t, const void* m, float* projected, float* normed);
  void finish_heads();
  void finish_queries();
  // Results of a projection as float32, rounded to bf16 where the variant computes in bf16.
  const float* widened(std::int64_t t, const void* m, std::int64_t count, const float* token_scale,
                       const void* channel_scales, std::int64_t channel, float* out) const;

  Layer layer_;
  PipelineTypes types_;
  const kernels::RowKernels& rows_;
  int threads_;
  Tensors tensors_;
  PackedWeights& packed_;
  std::size_t copies_;
  std::size_t at_ = 0;
  std::optional<OnednnMatmul> down_, up_, uk_;
  const void* x_;
  Memory converted_x_, m_, cq_, cq_scales_, q_, qc_, qn_, query_, query_rope_, kv_cache_, kr_cache_, scratch_;
  bool float_queries_ = false;  // oneDNN cannot store bf16 from float32: a pass rounds
};

}  // namespace mla_prolog::bench
