// The optimised backend: a schedule executed with the kernels of one instruction set.
#pragma once

#include <memory>

#include "kernels/dispatch/isa_registry.hpp"
#include "runtime/backend/executor.hpp"
#include "runtime/problem/layer.hpp"
#include "runtime/scheduler/planner.hpp"

namespace mla_prolog {

// What a plan may use of oneDNN.
struct EngineOptions {
  onednn::Use use = onednn::Use::never;
  Numerics numerics = Numerics::strict;
};

// `set` must have matmul kernels.
std::unique_ptr<const Executor> make_cpu_executor(const Layer& layer, const kernels::KernelSet& set, int threads,
                                                  const ScheduleOptions& options = {},
                                                  const EngineOptions& engine = {});

}  // namespace mla_prolog
