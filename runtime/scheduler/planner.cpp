#include "runtime/scheduler/planner.hpp"

#include <limits>

#include "runtime/backend/cpu/matmul.hpp"

namespace mla_prolog {
namespace {

using cpu::MatmulPlan;

// Tall blocks decode weights seldom; but c^Q as left operand of a head is to stay near the thread, and so are the
// results of a head, which are about as wide in all scenarios.
constexpr std::int64_t kMaxLeftBytes = 1600 * 1024;
constexpr std::int64_t kMaxBlockTokens = 512;

std::int64_t max_block_tokens(const Layer& layer, const kernels::GemmKernels& kernels) {
  // bf16 rows may be packed in two forms, of which a matmul reads one, at most as wide as float32.
  const std::size_t row = layer.cq_operand == Operand::bf16
                              ? static_cast<std::size_t>(layer.hcq) * sizeof(float)
                              : kernels[cpu::gemm_type(layer.cq_operand)].x_bytes(1, layer.hcq);
  return std::clamp<std::int64_t>(kMaxLeftBytes / static_cast<std::int64_t>(row), 1, kMaxBlockTokens);
}

// Each crew reads all weights, and memory never hides behind the arithmetic as wholly as the model has it: more crews
// are to be quicker by more than this leaves open.
constexpr double kClearly = 0.97;

// Columns that the kernels decode together.
constexpr std::int64_t kWideColumns = 64;

// Of a stage, or a few that belong together: the time of the busiest thread in a block of the largest height.
class Candidate {
 public:
  Candidate(const CostModel& model, const Schedule& schedule) : model_(model), schedule_(schedule) {}

  double seconds(std::initializer_list<Stage> stages) const {
    const std::int64_t tokens = schedule_.max_block_tokens();
    double total = 0;
    for (const Stage stage : stages) {
      if (!schedule_.has(stage)) continue;
      double busiest = 0;
      for (int member = 0; member < schedule_.crew; ++member) {
        double busy = 0;
        visit_share(schedule_.grid(stage, tokens), member, schedule_.crew,
                    [&](const Tile& tile) { busy += model_.tile(schedule_, stage, tile, tokens).seconds(); });
        busiest = std::max(busiest, busy);
      }
      total += busiest + (schedule_.last(stage) ? 0 : model_.barrier(schedule_));
    }
    return total;
  }

 private:
  const CostModel& model_;
  const Schedule& schedule_;
};

// Fills in how a given cut into crews and blocks divides the stages.
class Divider {
 public:
  Divider(const Layer& layer, const kernels::GemmKernels& kernels, const CostModel& model,
          const ScheduleOptions& options)
      : layer_(layer), kernels_(kernels), model_(model), options_(options) {}

  Schedule divide(const Schedule& cut) const {
    Schedule schedule = cut;
    schedule.add(Stage::rows, {.tokens = layer_.writes_cache() ? 2 : 1});
    schedule.add(Stage::heads, {.tokens = 1, .token_unit = schedule.max_block_tokens(), .columns = layer_.n});
    schedule = cheapest(projections(schedule), {Stage::pack_x, Stage::project, Stage::rows});
    schedule = cheapest(queries(schedule),
                        {Stage::pack_cq, Stage::heads, Stage::query, Stage::split, Stage::absorb, Stage::quantise});
    const std::int64_t rounds = (schedule.blocks + schedule.groups - 1) / schedule.groups;
    const Candidate whole(model_, schedule);
    schedule.expected_seconds = static_cast<double>(rounds) *
                                whole.seconds({Stage::pack_x, Stage::project, Stage::rows, Stage::pack_cq, Stage::heads,
                                               Stage::query, Stage::split, Stage::absorb, Stage::quantise});
    return schedule;
  }

 private:
  Schedule cheapest(const std::vector<Schedule>& candidates, std::initializer_list<Stage> stages) const {
    const Schedule* best = nullptr;
    double best_seconds = std::numeric_limits<double>::infinity();
    for (const Schedule& candidate : candidates) {
      const double seconds = Candidate(model_, candidate).seconds(stages);
      if (best == nullptr || seconds < best_seconds) {
        best = &candidate;
        best_seconds = seconds;
      }
    }
    return *best;
  }

  // What a crew of several threads may choose from; one thread takes the first.
  static std::vector<bool> choices(const Schedule& schedule, const std::optional<bool>& forced, bool possible = true) {
    if (schedule.crew == 1 || !possible) return {false};
    if (forced) return {*forced};
    return {false, true};
  }

  static Grid left_grid(const MatmulPlan& matmul, std::int64_t k) {
    return {
        .tokens = 1, .token_unit = matmul.group(), .columns = 1, .column_unit = 1, .k = k, .k_unit = matmul.chunk()};
  }

  std::vector<Schedule> projections(const Schedule& schedule) const {
    const std::int64_t tokens = schedule.max_block_tokens();
    const std::int64_t columns = layer_.hcq + (layer_.writes_cache() ? kDkvColumns : 0);
    std::vector<Schedule> candidates;
    for (const bool by_k : choices(schedule, options_.split_k, layer_.he > kernels::kGemmChunk)) {
      const std::int64_t k_unit = by_k ? kernels::kGemmChunk : layer_.he;
      for (const bool share : choices(schedule, options_.share_left)) {
        const MatmulPlan matmul(kernels_, layer_.x_operand, tokens, layer_.he, by_k || share ? kernels::kGemmChunk : 0);
        for (const bool by_tokens : choices(schedule, options_.split_tokens, tokens > matmul.group())) {
          for (const std::int64_t unit : {kWideColumns, matmul.panel_columns()}) {
            if (schedule.crew == 1 && unit != kWideColumns) continue;
            Schedule candidate = schedule;
            candidate.add(Stage::project, {.tokens = 1,
                                           .token_unit = by_tokens ? matmul.group() : tokens,
                                           .columns = columns,
                                           .column_unit = unit,
                                           .k = layer_.he,
                                           .k_unit = k_unit});
            if (share) candidate.add(Stage::pack_x, left_grid(matmul, layer_.he));
            candidates.push_back(candidate);
          }
        }
      }
    }
    return candidates;
  }

  std::vector<Schedule> queries(const Schedule& schedule) const {
    const std::int64_t tokens = schedule.max_block_tokens();
    const MatmulPlan absorb(kernels_, Operand::bf16, tokens, layer_.d);
    // Between the stages of split heads lie results of all heads in memory: only where heads do not go round.
    const bool few_heads = layer_.n < schedule.crew || options_.split_heads.value_or(false);
    std::vector<Schedule> candidates;
    for (const bool share : choices(schedule, options_.share_left)) {
      const MatmulPlan query(kernels_, layer_.cq_operand, tokens, layer_.hcq, share ? kernels::kGemmChunk : 0);
      Schedule packed = schedule;
      if (share) packed.add(Stage::pack_cq, left_grid(query, layer_.hcq));
      for (const bool by_tokens : choices(schedule, options_.split_tokens, tokens > query.group())) {
        const std::int64_t unit = by_tokens ? query.group() : tokens;
        for (const bool by_columns : choices(schedule, options_.split_heads, few_heads)) {
          Schedule candidate = packed;
          if (!by_columns) {
            candidate.add(Stage::heads, {.tokens = 1, .token_unit = unit, .columns = layer_.n});
          } else {
            candidate.remove(Stage::heads);
            candidate.add(Stage::query, {.tokens = 1,
                                         .token_unit = unit,
                                         .columns = layer_.uq_columns(),
                                         .column_unit = query.panel_columns(),
                                         .k = layer_.hcq,
                                         .k_unit = layer_.hcq});
            candidate.add(Stage::split, {.tokens = 1, .columns = layer_.n});
            candidate.add(Stage::absorb, {.tokens = 1,
                                          .token_unit = by_tokens ? absorb.group() : tokens,
                                          .columns = layer_.n * kHckv,
                                          .column_unit = kWideColumns,
                                          .k = layer_.d,
                                          .k_unit = layer_.d});
            if (layer_.quantised_query()) candidate.add(Stage::quantise, {.tokens = 1, .columns = layer_.n});
          }
          candidates.push_back(candidate);
        }
      }
    }
    return candidates;
  }

  const Layer& layer_;
  const kernels::GemmKernels& kernels_;
  const CostModel& model_;
  const ScheduleOptions& options_;
};

}  // namespace

Schedule make_schedule(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine,
                       int threads, const ScheduleOptions& options) {
  const CostModel model(layer, kernels, machine);
  const Divider divider(layer, kernels, model, options);
  const std::int64_t highest = options.block_tokens > 0 ? options.block_tokens : max_block_tokens(layer, kernels);
  const bool forced = options.groups > 0 && threads % options.groups == 0 && options.groups <= layer.tokens;
  Schedule best;
  for (int groups = 1; groups <= threads; ++groups) {
    if (threads % groups != 0 || groups > layer.tokens || (forced && groups != options.groups)) continue;
    // Blocks of equal height, as many rounds as the height asks for.
    const std::int64_t rounds = std::max<std::int64_t>(1, (layer.tokens + groups * highest - 1) / (groups * highest));
    Schedule cut;
    cut.threads = threads;
    cut.groups = groups;
    cut.crew = threads / groups;
    cut.tokens = layer.tokens;
    cut.blocks = std::min<std::int64_t>(layer.tokens, rounds * groups);
    const Schedule candidate = divider.divide(cut);
    if (best.tokens == 0 || candidate.expected_seconds < kClearly * best.expected_seconds) best = candidate;
  }
  return best;
}

}  // namespace mla_prolog
