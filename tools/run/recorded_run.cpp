#include "tools/run/recorded_run.hpp"

#include <algorithm>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {

RecordedRun record(const Plan& plan, Operands& operands, int repeats) {
  const Tensors tensors = operands.pointers();
  const PreparedWeights weights = prepare_or_throw(plan, operands);
  Buffer workspace(plan.workspace_bytes());
  Recording recording(plan);
  std::vector<RecordedRun> runs;
  for (int i = -1; i < repeats; ++i) {
    const Status status = run(plan, weights, tensors, workspace.data(), workspace.size(), recording);
    if (!status.ok()) throw UsageError("run: " + message(status));
    if (i >= 0) runs.push_back({recording.seconds(), recording.tiles()});
  }
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::ranges::nth_element(runs, middle, {}, &RecordedRun::seconds);
  return *middle;
}

std::vector<double> busiest_seconds(const Explanation& explanation, const std::vector<TileTimes>& tiles) {
  const auto threads = static_cast<std::size_t>(explanation.threads);
  std::vector<std::vector<double>> busy(explanation.stages.size(), std::vector<double>(threads, 0.0));
  for (const TileTimes& tile : tiles) {
    busy[tile.stage][static_cast<std::size_t>(tile.thread)] += tile.end_seconds - tile.begin_seconds;
  }
  std::vector<double> busiest;
  busiest.reserve(busy.size());
  for (const auto& stage : busy) busiest.push_back(*std::ranges::max_element(stage));
  return busiest;
}

}  // namespace mla_prolog::tools
