// A schedule walked on paper: the tiles that the executor would compute, in its order, each with the time that the cost
// model gives it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/scheduler/cost_model.hpp"
#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog {

struct SimulatedTile {
  Stage stage = Stage::project;
  int thread = 0;
  std::int64_t block = 0;
  Tile tile;  // tokens count from the call's first
  double begin = 0;
  double end = 0;  // seconds from the call's beginning
};

struct Simulation {
  std::array<Cost, kStages> work{};                       // of all threads together
  std::array<std::vector<double>, kStages> busy_seconds;  // of each thread
  double barrier_seconds = 0;                             // all of them
  double critical_seconds = 0;                            // until the last thread is done
  double ideal_seconds = 0;
  std::vector<SimulatedTile> tiles;

  // Of the busiest thread.
  double stage_seconds(Stage stage) const;
};

// `with_tiles`: a long call has many.
Simulation simulate(const Schedule& schedule, const CostModel& model, bool with_tiles = true);

}  // namespace mla_prolog
