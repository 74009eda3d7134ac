#include "runtime/scheduler/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/backend/cpu/matmul.hpp"

namespace mla_prolog {
namespace {

using cpu::gemm_type;

constexpr std::int64_t kMaxBlockTokens = 240;
constexpr double kUnitColumns = 64;

struct StageShape {
  const char* name;
  Operand operand;
  double k, columns, units, weight_bytes;  // units: pieces that are divided among a crew
};

std::vector<StageShape> stage_shapes(const Layer& layer) {
  const auto bytes = [](Operand operand) {
    return operand == Operand::bf16 ? 2.0 : (operand == Operand::mx ? 1.03 : 1.0);
  };
  const auto he = static_cast<double>(layer.he);
  const auto hcq = static_cast<double>(layer.hcq);
  const auto n = static_cast<double>(layer.n);
  const auto d = static_cast<double>(layer.d);
  const double a_columns = hcq + (layer.writes_cache() ? static_cast<double>(kDkvColumns) : 0.0);
  const auto uq = static_cast<double>(layer.uq_columns());
  return {{"A weight_dq, weight_dkv_kr", layer.x_operand, he, a_columns, a_columns / kUnitColumns,
           he * a_columns * bytes(layer.x_operand)},
          {"C weight_uq_qr", layer.cq_operand, hcq, uq, n, hcq * uq * bytes(layer.cq_operand)},
          {"D weight_uk", Operand::bf16, d, n * 512, n, n * d * 512 * 2}};
}

// Of one thread with `share` of the units of a stage, for a block of `tokens`.
StageCost stage_cost(const StageShape& shape, const kernels::GemmKernels& kernels, const MachineModel& machine,
                     double tokens, int crew, int groups) {
  const kernels::GemmFunctions& functions = kernels[gemm_type(shape.operand)];
  const double share = std::ceil(shape.units / crew) / shape.units;
  const double weights = shape.k * shape.columns;
  const double rate = shape.operand == Operand::int8 ? machine.int8_macs : machine.float_macs;
  StageCost cost;
  cost.name = shape.name;
  cost.macs = weights * tokens;
  cost.weight_bytes = shape.weight_bytes;
  double decoded = weights;
  if (tokens < static_cast<double>(functions.packed_from)) {  // decoded again for every group of tokens
    decoded *= std::ceil(tokens / static_cast<double>(functions.in_place_group)) * 0.5;
  }
  cost.compute_seconds = share * (weights * tokens / rate + decoded / machine.decoded_weights);
  const double bandwidth = std::min(machine.read_bytes, machine.shared_read_bytes / (crew * groups));
  cost.memory_seconds = share * shape.weight_bytes / bandwidth;
  return cost;
}

Schedule evaluate(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine, int threads,
                  int groups, std::int64_t blocks) {
  Schedule schedule;
  schedule.threads = threads;
  schedule.groups = groups;
  schedule.crew = threads / groups;
  schedule.tokens = layer.tokens;
  schedule.blocks = blocks;
  const auto tokens = static_cast<double>(schedule.max_block_tokens());
  const int crew = schedule.crew;
  for (const StageShape& shape : stage_shapes(layer)) {
    schedule.stages.push_back(stage_cost(shape, kernels, machine, tokens, crew, groups));
  }
  // The left operands are packed by every thread of a crew for itself; rows are divided.
  schedule.stages[0].compute_seconds += tokens * static_cast<double>(layer.he) / machine.packed_elements;
  schedule.stages[1].compute_seconds += tokens * static_cast<double>(layer.hcq) / machine.packed_elements;
  const double row_share = std::ceil(2 * tokens / crew) / (2 * tokens);
  StageCost rows;
  rows.name = "B rows of c^Q and c^KV";
  rows.compute_seconds = row_share * tokens * static_cast<double>(layer.hcq + kDkvColumns) / machine.row_elements;
  schedule.stages.insert(schedule.stages.begin() + 1, rows);
  schedule.stages[3].compute_seconds += tokens * std::ceil(static_cast<double>(layer.n) / crew) *
                                        static_cast<double>(2 * layer.d + kDr + kHckv) / machine.row_elements;
  schedule.barrier_seconds = crew > 1 ? 2 * machine.barrier_seconds : 0;
  const std::int64_t rounds = (blocks + groups - 1) / groups;
  double block_seconds = schedule.barrier_seconds;
  for (const StageCost& stage : schedule.stages) block_seconds += stage.seconds();
  schedule.total_seconds = static_cast<double>(rounds) * block_seconds;
  return schedule;
}

}  // namespace

MachineModel MachineModel::of(Isa isa) {
  MachineModel model;
  switch (isa) {
    case Isa::avx512_vnni:
      break;
    case Isa::avx512:
    case Isa::avx2:
      model.int8_macs = 75e9;
      break;
    case Isa::neon_dotprod:
      model.float_macs = 24e9;
      model.int8_macs = 96e9;
      model.decoded_weights = 2e9;
      break;
    default:
      model.float_macs = 12e9;
      model.int8_macs = 24e9;
      model.decoded_weights = 1e9;
      break;
  }
  return model;
}

std::string Schedule::to_string() const {
  char line[160];
  std::string text;
  std::snprintf(line, sizeof line, "  %d thread%s: %d crew%s of %d, %lld block%s of up to %lld tokens\n", threads,
                threads == 1 ? "" : "s", groups, groups == 1 ? "" : "s", crew, static_cast<long long>(blocks),
                blocks == 1 ? "" : "s", static_cast<long long>(max_block_tokens()));
  text += line;
  for (const StageCost& stage : stages) {
    std::snprintf(line, sizeof line, "  %-28s %10.3g MACs %10.3g weight bytes  compute %9.1f us  memory %9.1f us\n",
                  stage.name, stage.macs, stage.weight_bytes, stage.compute_seconds * 1e6, stage.memory_seconds * 1e6);
    text += line;
  }
  std::snprintf(line, sizeof line, "  barriers %.1f us a block, modelled total %.1f us\n", barrier_seconds * 1e6,
                total_seconds * 1e6);
  return text + line;
}

Schedule make_schedule(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine,
                       int threads, std::int64_t block_tokens, int groups) {
  const std::int64_t highest = block_tokens > 0 ? block_tokens : kMaxBlockTokens;
  Schedule best;
  bool first = true;
  for (int g = 1; g <= threads; ++g) {
    if (threads % g != 0 || g > layer.tokens) continue;
    if (groups > 0 && threads % groups == 0 && groups <= layer.tokens && g != groups) continue;
    // Blocks of equal height, as many rounds as the height asks for.
    const std::int64_t rounds = std::max<std::int64_t>(1, (layer.tokens + g * highest - 1) / (g * highest));
    const std::int64_t blocks = std::min<std::int64_t>(layer.tokens, rounds * g);
    const Schedule candidate = evaluate(layer, kernels, machine, threads, g, blocks);
    if (first || candidate.total_seconds < best.total_seconds) best = candidate;
    first = false;
  }
  return best;
}

}  // namespace mla_prolog
