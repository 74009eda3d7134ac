// The workspace that CANN reports (validation.md 8). What the CPU needs is another matter: the plan's.
#pragma once

#include <cstdint>

#include "runtime/problem/dims.hpp"
#include "runtime/problem/scenario.hpp"

namespace mla_prolog {

/// Bytes for an accepted call whose tiling is run. Saturates instead of overflowing.
std::uint64_t cann_workspace_bytes(const Scenario& scenario, const Dims& dims) noexcept;

}  // namespace mla_prolog
