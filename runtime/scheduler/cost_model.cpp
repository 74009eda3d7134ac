#include "runtime/scheduler/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace mla_prolog {

using cpu::gemm_type;

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

double MachineModel::barrier(int threads) const { return barrier_seconds * std::log2(static_cast<double>(threads)); }

Cost& Cost::operator+=(const Cost& other) {
  macs += other.macs;
  weight_bytes += other.weight_bytes;
  compute_seconds += other.compute_seconds;
  memory_seconds += other.memory_seconds;
  return *this;
}

struct CostModel::Weights {
  const kernels::GemmFunctions* functions;
  double bytes;  // of one weight
  double macs;   // per second
};

CostModel::Weights CostModel::x_weights() const {
  const Operand operand = layer_.x_operand;
  return {&(*kernels_)[gemm_type(operand)], cpu::weight_bytes(operand),
          operand == Operand::int8 ? machine_.int8_macs : machine_.float_macs};
}

CostModel::Weights CostModel::cq_weights() const {
  const Operand operand = layer_.cq_operand;
  return {&(*kernels_)[gemm_type(operand)], cpu::weight_bytes(operand),
          operand == Operand::int8 ? machine_.int8_macs : machine_.float_macs};
}

CostModel::Weights CostModel::uk_weights() const {
  return {&(*kernels_)[kernels::GemmType::bf16], cpu::weight_bytes(Operand::bf16), machine_.float_macs};
}

Cost CostModel::matmul(const Weights& weights, int threads, double tokens, double columns, double k,
                       std::int64_t block_tokens) const {
  const kernels::GemmFunctions& functions = *weights.functions;
  Cost cost;
  cost.macs = tokens * columns * k;
  cost.weight_bytes = columns * k * weights.bytes;
  double decoded = columns * k;
  if (block_tokens < functions.packed_from) {  // decoded again for every group of tokens
    decoded *= std::ceil(tokens / static_cast<double>(functions.in_place_group)) * 0.5;
  }
  cost.compute_seconds = cost.macs / weights.macs + decoded / machine_.decoded_weights;
  cost.memory_seconds = cost.weight_bytes / std::min(machine_.read_bytes, machine_.shared_read_bytes / threads);
  return cost;
}

// C and D of some heads: two matmuls, q^C packed between, the rows.
Cost CostModel::heads(int threads, double tokens, double heads, std::int64_t block_tokens) const {
  const auto d = static_cast<double>(layer_.d);
  const double head_columns = d + kDr;
  Cost cost =
      matmul(cq_weights(), threads, tokens, heads * head_columns, static_cast<double>(layer_.hcq), block_tokens);
  cost += matmul(uk_weights(), threads, tokens, heads * kHckv, d, block_tokens);
  cost.compute_seconds +=
      tokens * heads * (d / machine_.packed_elements + (head_columns + d + kHckv) / machine_.row_elements);
  return cost;
}

Cost CostModel::tile(const Schedule& schedule, Stage stage, const Tile& tile, std::int64_t block_tokens) const {
  const auto tokens = static_cast<double>(tile.tokens);
  const auto columns = static_cast<double>(tile.columns);
  const auto ks = static_cast<double>(tile.ks);
  const auto hcq = static_cast<double>(layer_.hcq);
  const auto d = static_cast<double>(layer_.d);
  const int threads = schedule.threads;
  const double planes = static_cast<double>(schedule.planes());
  Cost cost;
  switch (stage) {
    case Stage::pack_x:
    case Stage::pack_cq:
      cost.compute_seconds = tokens * ks / machine_.packed_elements;
      break;
    case Stage::project:
      cost = matmul(x_weights(), threads, tokens, columns, ks, block_tokens);
      if (!schedule.has(Stage::pack_x)) cost.compute_seconds += tokens * ks / machine_.packed_elements;
      if (planes > 1) cost.memory_seconds += tokens * columns * 4 / machine_.cached_bytes;
      break;
    case Stage::rows: {
      const double width = tile.tokens > 1 || !layer_.writes_cache()
                               ? tokens * (layer_.writes_cache() ? (hcq + kDkvColumns) / 2 : hcq)
                               : (tile.token % 2 == 0 ? hcq : static_cast<double>(kDkvColumns));
      cost.compute_seconds = width / machine_.row_elements;
      if (planes > 1) cost.compute_seconds += width * planes * 4 / machine_.cached_bytes;
      break;
    }
    case Stage::heads:
      cost = heads(threads, tokens, columns, block_tokens);
      if (!schedule.has(Stage::pack_cq)) cost.compute_seconds += tokens * hcq / machine_.packed_elements;
      break;
    case Stage::query:
      cost = matmul(cq_weights(), threads, tokens, columns, hcq, block_tokens);
      if (!schedule.has(Stage::pack_cq)) cost.compute_seconds += tokens * hcq / machine_.packed_elements;
      break;
    case Stage::split:
      cost.compute_seconds = tokens * columns * (d + kDr) * (1 / machine_.row_elements + 4 / machine_.cached_bytes);
      break;
    case Stage::absorb: {
      const double heads = std::ceil(columns / kHckv);
      cost = matmul(uk_weights(), threads, tokens, columns, d, block_tokens);
      cost.compute_seconds += tokens * (heads * d / machine_.packed_elements + columns / machine_.row_elements);
      break;
    }
    case Stage::quantise:
      cost.compute_seconds = tokens * columns * kHckv * (1 / machine_.row_elements + 2 / machine_.cached_bytes);
      break;
  }
  return cost;
}

double CostModel::ideal_seconds(int threads) const {
  const auto tokens = static_cast<double>(layer_.tokens);
  const auto he = static_cast<double>(layer_.he);
  const auto hcq = static_cast<double>(layer_.hcq);
  const double a_columns = hcq + (layer_.writes_cache() ? static_cast<double>(kDkvColumns) : 0.0);
  Cost cost = matmul(x_weights(), threads, tokens, a_columns, he, layer_.tokens);
  cost += heads(threads, tokens, static_cast<double>(layer_.n), layer_.tokens);
  cost.compute_seconds += tokens * ((he + hcq) / machine_.packed_elements + a_columns / machine_.row_elements);
  const double bandwidth = std::min(machine_.shared_read_bytes, machine_.read_bytes * threads);
  return std::max(cost.compute_seconds / threads, cost.weight_bytes / bandwidth);
}

}  // namespace mla_prolog
