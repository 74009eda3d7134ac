#include "runtime/scheduler/simulation.hpp"

#include <algorithm>

namespace mla_prolog {

double Simulation::stage_seconds(Stage stage) const {
  const auto& busy = busy_seconds[static_cast<std::size_t>(stage)];
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

Simulation simulate(const Schedule& schedule, const CostModel& model, bool with_tiles) {
  Simulation result;
  result.ideal_seconds = model.ideal_seconds(schedule.threads);
  const auto threads = static_cast<std::size_t>(schedule.threads);
  for_each_stage(schedule,
                 [&](Stage stage) { result.busy_seconds[static_cast<std::size_t>(stage)].assign(threads, 0.0); });
  std::vector<double> clock(threads, 0.0);
  const auto work = [&](Stage stage, int thread, std::int64_t block) {
    const auto index = static_cast<std::size_t>(stage);
    const std::int64_t first = schedule.first_token(block);
    const std::int64_t count = schedule.first_token(block + 1) - first;
    visit_share(schedule.grid(stage, count), thread % schedule.crew, schedule.crew, [&](const Tile& tile) {
      const Cost cost = model.tile(schedule, stage, tile, count);
      double& now = clock[static_cast<std::size_t>(thread)];
      if (with_tiles) result.tiles.push_back({stage, thread, block, tile, now, now + cost.seconds()});
      now += cost.seconds();
      result.work[index] += cost;
      result.busy_seconds[index][static_cast<std::size_t>(thread)] += cost.seconds();
    });
  };
  for (std::int64_t round = 0; round * schedule.groups < schedule.blocks; ++round) {
    for_each_stage(schedule, [&](Stage stage) {
      for (int thread = 0; thread < schedule.threads; ++thread) {
        const std::int64_t block = round * schedule.groups + thread / schedule.crew;
        if (block < schedule.blocks) work(stage, thread, block);
      }
      if (schedule.crew > 1 && !schedule.last(stage)) {
        const double barrier = model.barrier(schedule);
        const double latest = *std::max_element(clock.begin(), clock.end());
        std::fill(clock.begin(), clock.end(), latest + barrier);
        result.barrier_seconds += barrier;
      }
    });
  }
  result.critical_seconds = *std::max_element(clock.begin(), clock.end());
  return result;
}

}  // namespace mla_prolog
