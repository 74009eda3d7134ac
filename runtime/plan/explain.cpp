#include "mla_prolog/explain.hpp"

#include <algorithm>
#include <array>

#include "runtime/plan/plan_data.hpp"
#include "runtime/plan/recording.hpp"

namespace mla_prolog {
namespace {

const Schedule* schedule_of(const Plan& plan) {
  return plan.data().executor == nullptr ? nullptr : plan.data().executor->schedule();
}

// Positions of the stages that run among each other.
std::array<std::size_t, kStages> stage_positions(const Schedule& schedule) {
  std::array<std::size_t, kStages> positions{};
  std::size_t next = 0;
  for_each_stage(schedule, [&](Stage stage) { positions[static_cast<std::size_t>(stage)] = next++; });
  return positions;
}

WorkRange range_of(const Schedule& schedule, Stage stage, std::int64_t block, const Tile& tile) {
  const std::int64_t rows_per_token = schedule.grid(stage, 1).tokens;
  return {.first_token = schedule.first_token(block) * rows_per_token + tile.token,
          .tokens = tile.tokens,
          .first_column = tile.column,
          .columns = tile.columns,
          .first_k = tile.k,
          .k = tile.ks};
}

StageSummary summary_of(const Executor& executor, const Schedule& schedule, const Simulation& simulation, Stage stage) {
  const auto index = static_cast<std::size_t>(stage);
  const Grid grid = schedule.grid(stage, schedule.max_block_tokens());
  const Cost& work = simulation.work[index];
  StageSummary summary;
  summary.name = stage_name(stage);
  summary.block = {.tokens = grid.tokens, .columns = grid.columns, .k = grid.k};
  summary.unit = {.tokens = std::min(grid.tokens, grid.token_unit),
                  .columns = std::min(grid.columns, grid.column_unit),
                  .k = std::min(grid.k, grid.k_unit)};
  summary.macs = work.macs;
  summary.weight_bytes = work.weight_bytes;
  summary.compute_seconds = work.compute_seconds;
  summary.memory_seconds = work.memory_seconds;
  summary.thread_seconds = simulation.busy_seconds[index];
  summary.engine = executor.engine_of(stage);
  return summary;
}

}  // namespace

double StageSummary::busiest_seconds() const noexcept {
  return thread_seconds.empty() ? 0 : *std::max_element(thread_seconds.begin(), thread_seconds.end());
}

Explanation explain(const Plan& plan) {
  Explanation explanation;
  explanation.threads = plan.threads();
  explanation.crew_threads = plan.threads();
  const Schedule* const schedule = schedule_of(plan);
  if (schedule == nullptr) return explanation;
  const Executor& executor = *plan.data().executor;
  const Simulation simulation = executor.simulation();
  explanation.crews = schedule->groups;
  explanation.crew_threads = schedule->crew;
  explanation.blocks = schedule->blocks;
  explanation.block_tokens = schedule->max_block_tokens();
  explanation.barrier_seconds = simulation.barrier_seconds;
  explanation.expected_seconds = simulation.critical_seconds;
  explanation.ideal_seconds = simulation.ideal_seconds;
  for_each_stage(*schedule, [&](Stage stage) {
    explanation.stages.push_back(summary_of(executor, *schedule, simulation, stage));
  });
  const auto positions = stage_positions(*schedule);
  for (const SimulatedTile& tile : simulation.tiles) {
    explanation.tiles.push_back({positions[static_cast<std::size_t>(tile.stage)], tile.thread, tile.block,
                                 range_of(*schedule, tile.stage, tile.block, tile.tile), tile.begin, tile.end});
  }
  return explanation;
}

Recording::Recording(const Plan& plan) : impl_(std::make_unique<Impl>()) {
  const Schedule* const schedule = schedule_of(plan);
  if (schedule == nullptr) return;
  impl_->schedule = *schedule;
  impl_->recorder = std::make_unique<Recorder>(*schedule);
}
Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

std::vector<TileTimes> Recording::tiles() const {
  std::vector<TileTimes> tiles;
  if (impl_->recorder == nullptr) return tiles;
  const auto positions = stage_positions(impl_->schedule);
  int thread = 0;
  for (const Recorder::Lane& lane : impl_->recorder->lanes()) {
    for (std::size_t i = 0; i < lane.count; ++i) {
      const Recorder::Event& event = lane.events[i];
      tiles.push_back({positions[static_cast<std::size_t>(event.stage)], thread, event.block,
                       range_of(impl_->schedule, event.stage, event.block, event.tile),
                       impl_->recorder->seconds(event.begin), impl_->recorder->seconds(event.end)});
    }
    ++thread;
  }
  return tiles;
}

double Recording::seconds() const noexcept { return impl_->elapsed.count(); }

}  // namespace mla_prolog
