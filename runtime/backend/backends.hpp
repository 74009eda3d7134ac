// Which backends there are, and the choice among them.
#pragma once

#include <memory>

#include "kernels/dispatch/isa_registry.hpp"
#include "mla_prolog/plan.hpp"
#include "mla_prolog/status.hpp"
#include "runtime/backend/ascend/library.hpp"
#include "runtime/backend/executor.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog {

struct BackendChoice {
  Backend backend = Backend::reference;
  Isa isa = Isa::scalar;
  const kernels::KernelSet* kernels = nullptr;  // of the cpu backend, and of onednn beside its matmuls
  onednn::Use onednn = onednn::Use::never;
  std::shared_ptr<const ascend::Library> device;  // of the ascend backend
};

// The backend and instruction set that the options ask for, or why that cannot be had.
Result<BackendChoice> choose_backend(const PlanOptions& options);

std::unique_ptr<const Executor> make_executor(const BackendChoice& choice, const Layer& layer, int threads,
                                              const PlanOptions& options);

}  // namespace mla_prolog
