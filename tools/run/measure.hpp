// Times repeated calls of one plan.
#pragma once

#include <optional>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct Timing {
  double median_seconds = 0.0;
  double first_seconds = 0.0;
  int repeats = 0;
};

/// Runs the plan `repeats` times; when not given three times and until half a second is spent, fewer when calls take
/// seconds. The results of every call are the same, so they stay. Throws UsageError when the call is refused.
Timing run_and_time(const Plan& plan, Operands& operands, std::optional<int> repeats);

}  // namespace mla_prolog::tools
