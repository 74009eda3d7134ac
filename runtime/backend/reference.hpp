// The reference backend: the operator token by token from the scalar kernels, in the order of numerics.md section 4.
#pragma once

#include <memory>

#include "runtime/backend/executor.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog {

std::unique_ptr<const Executor> make_reference_executor(const Layer& layer, int threads);

}  // namespace mla_prolog
