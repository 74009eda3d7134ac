// The optimised backend: a schedule executed with the kernels of one instruction set.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/dispatch/isa_registry.hpp"
#include "runtime/backend/executor.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog {

// What tests and experiments may force; 0: as the cost model says.
struct CpuOptions {
  std::int64_t block_tokens = 0;
  int groups = 0;
};

// `set` must have matmul kernels.
std::unique_ptr<const Executor> make_cpu_executor(const Layer& layer, const kernels::KernelSet& set, int threads,
                                                  const CpuOptions& options = {});

}  // namespace mla_prolog
