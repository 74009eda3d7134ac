// Repeated calls of one plan with the times of every tile.
#pragma once

#include <vector>

#include "mla_prolog/explain.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct RecordedRun {
  double seconds = 0.0;
  std::vector<TileTimes> tiles;
};

/// Runs the plan once to warm up and then `repeats` times; the call of median time. Throws UsageError when the call is
/// refused.
RecordedRun record(const Plan& plan, Operands& operands, int repeats);

/// Seconds of the busiest thread in each stage.
std::vector<double> busiest_seconds(const Explanation& explanation, const std::vector<TileTimes>& tiles);

}  // namespace mla_prolog::tools
