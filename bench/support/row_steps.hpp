// The steps between the matmuls alone: RmsNorm, RoPE, quantisation, dequantisation, rounding and cache writes of a
// call, with the very functions and kernels that the call uses, on all threads. What the matmuls would leave lies in
// the caches, as in the fused schedule. The rounding of q^N to bf16 belongs to the last matmul's results and is not
// here.
#pragma once

#include <vector>

#include "bench/support/memory.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "mla_prolog/tensor.hpp"
#include "runtime/backend/cpu/rows.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::bench {

class RowSteps {
 public:
  // `tensors` with all but the big weights; its outputs and caches are written.
  RowSteps(const Layer& layer, const kernels::KernelSet& set, int threads, const Tensors& tensors);

  // Stage B: two rows a token.
  void finish_rows() const;
  // The row steps of stages C and D: each head of each token.
  void finish_heads() const;

 private:
  struct Thread {
    Memory floats, halves, cache_row;
    cpu::RowScratch scratch;
  };

  template <typename Body>
  void for_each_token(Body&& body) const;

  Layer layer_;
  Tensors tensors_;
  const kernels::RowKernels& rows_;
  int threads_;
  std::vector<Thread> own_;
  Memory matmul_results_;  // one token's: float32 or int32
  Memory codes_, scales_, qn_;
  std::vector<std::int64_t> slots_;
};

}  // namespace mla_prolog::bench
