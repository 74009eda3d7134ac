// The contents of a Plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "mla_prolog/plan.hpp"
#include "runtime/backend/ascend/device_call.hpp"
#include "runtime/backend/executor.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::detail {

struct PlanData {
  Problem problem;
  Layer layer;
  Profile profile = Profile::a2;
  Backend backend = Backend::reference;
  Isa isa = Isa::scalar;
  Numerics numerics = Numerics::strict;
  int threads = 1;
  std::uint64_t cann_workspace_bytes = 0;
  bool resolves_slots = false;  // not when no cache row is written, nor from indices in device memory
  // Workspace: the slots first, then the executor's part.
  std::size_t slot_bytes = 0;
  std::size_t workspace_bytes = 0;
  // At most one of the two; none when there is nothing to compute.
  std::unique_ptr<const Executor> executor;
  std::unique_ptr<const ascend::DeviceCall> device;
  // An engine that was asked for by name is not replaced by another.
  bool needs_prepared = false;
};

}  // namespace mla_prolog::detail
