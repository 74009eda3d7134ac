// The division of work, without computing: every unit once, and no thread far behind the others on many threads.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "kernels/dispatch/isa_registry.hpp"
#include "runtime/problem/layer.hpp"
#include "runtime/scheduler/planner.hpp"
#include "runtime/scheduler/simulation.hpp"
#include "test/catch.hpp"
#include "test/scheduler/operator_data.hpp"

namespace {

using namespace mla_prolog;

std::vector<const kernels::KernelSet*> usable_sets() {
  std::vector<const kernels::KernelSet*> sets;
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm != nullptr && kernels::unavailable_reason(set, kernels::cpu_features()).empty()) sets.push_back(&set);
  }
  return sets;
}

// DeepSeek-V3 unless changed.
Layer layer_of(ProblemConfig config) {
  config.block_num = config.tokens / 128 + 1;
  const Problem problem = describe(config);
  const Result<Layer> layer = resolve_layer(problem, Domain::relaxed, Soc::automatic, Profile::automatic);
  REQUIRE(layer.ok());
  return *layer;
}

Layer deepseek(int weight_mode, int cache_mode, std::int64_t tokens, std::int64_t heads = 128) {
  ProblemConfig config;
  config.weight_quant_mode = weight_mode;
  config.kv_cache_quant_mode = cache_mode;
  config.tokens = tokens;
  config.n = heads;
  return layer_of(config);
}

// What the stages must cover between them, from the layer alone.
struct Extent {
  std::int64_t tokens, columns, k;
};
Extent extent_of(const Layer& layer, Stage stage) {
  const std::int64_t t = layer.tokens;
  switch (stage) {
    case Stage::pack_x:
      return {t, 1, layer.he};
    case Stage::project:
      return {t, layer.hcq + kDkvColumns, layer.he};
    case Stage::rows:
      return {2 * t, 1, 1};
    case Stage::pack_cq:
      return {t, 1, layer.hcq};
    case Stage::query:
      return {t, layer.n * (layer.d + kDr), layer.hcq};
    case Stage::absorb:
      return {t, layer.n * kHckv, layer.d};
    default:
      return {t, layer.n, 1};
  }
}

// The first cell that some tile covers again, or that none covers; empty when there is none.
std::string coverage_error(const Layer& layer, const Schedule& schedule, const Simulation& simulation, Stage stage) {
  const Extent whole = extent_of(layer, stage);
  std::vector<std::uint8_t> covered(static_cast<std::size_t>(whole.tokens * whole.columns), 0);
  std::map<std::int64_t, std::vector<std::uint8_t>> by_k;
  const std::int64_t rows_per_token = stage == Stage::rows ? 2 : 1;
  for (const SimulatedTile& simulated : simulation.tiles) {
    if (simulated.stage != stage) continue;
    const Tile& tile = simulated.tile;
    const std::int64_t first = schedule.first_token(simulated.block) * rows_per_token + tile.token;
    auto& cells = by_k.try_emplace(tile.k, covered).first->second;
    for (std::int64_t t = first; t < first + tile.tokens; ++t) {
      for (std::int64_t c = tile.column; c < tile.column + tile.columns; ++c) {
        if (t >= whole.tokens || c >= whole.columns) return "outside: token " + std::to_string(t);
        std::uint8_t& cell = cells[static_cast<std::size_t>(t * whole.columns + c)];
        if (cell++ != 0) return "twice: token " + std::to_string(t) + " column " + std::to_string(c);
      }
    }
  }
  // Pieces of k that follow one another from 0 to the end, each complete.
  std::int64_t k = 0;
  for (const auto& [begin, cells] : by_k) {
    if (begin != k) return "k " + std::to_string(k);
    if (std::ranges::count(cells, 1) != static_cast<std::ptrdiff_t>(cells.size()))
      return "not all at k " + std::to_string(k);
    for (const SimulatedTile& simulated : simulation.tiles) {
      if (simulated.stage == stage && simulated.tile.k == begin) k = begin + simulated.tile.ks;
    }
  }
  return k == whole.k ? "" : "k ends at " + std::to_string(k);
}

TEST_CASE("the tiles of a schedule cover every token and column of every stage once") {
  for (const kernels::KernelSet* set : usable_sets()) {
    const MachineModel machine = MachineModel::of(set->isa);
    for (const auto& [threads, tokens, heads] : {std::tuple{1, 300, 4},
                                                 {2, 5, 3},
                                                 {3, 64, 2},
                                                 {7, 17, 3},
                                                 {16, 1, 2},
                                                 {16, 250, 3},
                                                 {128, 33, 2},
                                                 {128, 7, 1}}) {
      const Layer layer = deepseek(2, 1, tokens, heads);
      for (const bool split_k : {false, true}) {
        for (const bool split_tokens : {false, true}) {
          for (const bool split_heads : {false, true}) {
            const ScheduleOptions options{.split_k = split_k, .split_tokens = split_tokens, .split_heads = split_heads};
            const Schedule schedule = make_schedule(layer, *set->gemm, machine, threads, options);
            const Simulation simulation = simulate(schedule, CostModel(layer, *set->gemm, machine));
            INFO(set->name << " threads " << threads << " tokens " << tokens << " heads " << heads);
            for_each_stage(schedule, [&](Stage stage) {
              INFO(stage_name(stage) << "\n" << schedule.to_string());
              CHECK(coverage_error(layer, schedule, simulation, stage) == "");
            });
            CHECK((schedule.crew == 1 || schedule.has(Stage::heads) != split_heads));
          }
        }
      }
    }
  }
}

TEST_CASE("shares are contiguous, equal to a unit, and independent of who asks") {
  for (const std::int64_t tokens : {1, 7, 64}) {
    for (const std::int64_t columns : {1, 33, 130}) {
      for (const std::int64_t k : {512, 7168, 544}) {
        const Grid grid{.tokens = tokens, .token_unit = 6, .columns = columns, .column_unit = 2, .k = k, .k_unit = 512};
        for (const int crew : {1, 2, 3, 7, 16, 128}) {
          std::int64_t least = grid.token_units() * grid.column_units() * grid.k_units();
          std::int64_t most = 0;
          std::int64_t cells = 0;
          for (int member = 0; member < crew; ++member) {
            std::int64_t units = 0;
            int tiles = 0;
            visit_share(grid, member, crew, [&](const Tile& tile) {
              cells += tile.tokens * tile.columns * tile.ks;
              units += (tile.tokens + 5) / 6 * ((tile.columns + 1) / 2);
              ++tiles;
              CHECK(tile.token % 6 == 0);
              CHECK(tile.column % 2 == 0);
            });
            least = std::min(least, units);
            most = std::max(most, units);
            CHECK(tiles <= 3 * grid.k_units());
          }
          CHECK(most - least <= 1);
          CHECK(cells == tokens * columns * k);
        }
      }
    }
  }
}

TEST_CASE("on many threads the critical path stays within 1.15 of the ideal") {
  for (const kernels::KernelSet* set : usable_sets()) {
    const MachineModel machine = MachineModel::of(set->isa);
    for (const auto& [weight_mode, cache_mode] : {std::pair{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}) {
      for (const std::int64_t tokens : {1, 8, 64, 512}) {
        for (const int threads : {8, 32, 128}) {
          const Layer layer = deepseek(weight_mode, cache_mode, tokens);
          const Schedule schedule = make_schedule(layer, *set->gemm, machine, threads);
          const Simulation simulation = simulate(schedule, CostModel(layer, *set->gemm, machine));
          INFO("w" << weight_mode << "kv" << cache_mode << " T " << tokens << " threads " << threads << " " << set->name
                   << " ideal " << simulation.ideal_seconds << " critical " << simulation.critical_seconds << "\n"
                   << schedule.to_string());
          CHECK(simulation.critical_seconds <= 1.15 * simulation.ideal_seconds);
          CHECK(simulation.critical_seconds >= simulation.ideal_seconds);
        }
      }
    }
  }
}

TEST_CASE("without the splits many threads would wait for the busiest") {
  for (const kernels::KernelSet* set : usable_sets()) {
    const MachineModel machine = MachineModel::of(set->isa);
    const Layer layer = deepseek(2, 1, 8, 8);  // one of 16 tensor-parallel ranks
    const ScheduleOptions none{.split_k = false, .split_tokens = false, .share_left = false, .split_heads = false};
    const Schedule plain = make_schedule(layer, *set->gemm, machine, 128, none);
    const Schedule chosen = make_schedule(layer, *set->gemm, machine, 128);
    INFO(set->name << "\n" << plain.to_string() << chosen.to_string());
    CHECK(chosen.has(Stage::query));
    CHECK(chosen.planes() > 1);
    CHECK(chosen.expected_seconds < 0.5 * plain.expected_seconds);
  }
}

TEST_CASE("the planner expects what the simulation finds") {
  for (const kernels::KernelSet* set : usable_sets()) {
    const MachineModel machine = MachineModel::of(set->isa);
    for (const std::int64_t tokens : {1, 48, 512}) {
      for (const int threads : {1, 4, 32}) {
        const Layer layer = deepseek(2, 1, tokens);
        const Schedule schedule = make_schedule(layer, *set->gemm, machine, threads);
        const Simulation simulation = simulate(schedule, CostModel(layer, *set->gemm, machine));
        INFO(set->name << " T " << tokens << " threads " << threads);
        CHECK(std::abs(simulation.critical_seconds / schedule.expected_seconds - 1) < 0.05);
      }
    }
  }
}

}  // namespace
