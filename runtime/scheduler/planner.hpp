// Chooses a schedule: the cheapest of a handful of divisions by the cost model.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/scheduler/cost_model.hpp"
#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog {

// What tests and experiments may force; otherwise the cost model decides.
struct ScheduleOptions {
  std::int64_t block_tokens = 0;  // the height of blocks; 0: not forced
  int groups = 0;                 // the number of crews, where it divides the threads; 0: not forced
  // Only where a crew has several threads:
  std::optional<bool> split_k = std::nullopt;       // stage A by chunks of k
  std::optional<bool> split_tokens = std::nullopt;  // matmul stages by groups of tokens
  std::optional<bool> share_left = std::nullopt;    // left operands are packed once for the crew
  std::optional<bool> split_heads = std::nullopt;   // C and D by columns rather than by heads
};

Schedule make_schedule(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine,
                       int threads, const ScheduleOptions& options = {});

}  // namespace mla_prolog
