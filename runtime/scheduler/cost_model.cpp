#include "runtime/scheduler/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mla_prolog {

using cpu::gemm_type;

MachineModel MachineModel::of(Isa isa) {
  MachineModel model;
  switch (isa) {
    case Isa::avx512_vnni:
    case Isa::avx512:
      model.bf16 = {58e9, 100e-12, 10e-12, 3e9};
      model.int8 = isa == Isa::avx512 ? MatmulRates{92e9, 50e-12, 8e-12, 5e9} : MatmulRates{230e9, 40e-12, 5e-12, 5e9};
      model.float8 = {57e9, 80e-12, 25e-12, 2e9};
      model.mx = {52e9, 137e-12, 45e-12, 2e9};
      break;
    case Isa::avx2:
      model.bf16 = {56e9, 120e-12, 8e-12, 3e9};
      model.int8 = {90e9, 50e-12, 10e-12, 5e9};
      model.float8 = {53e9, 120e-12, 50e-12, 2e9};
      model.mx = {45e9, 150e-12, 75e-12, 2e9};
      break;
    case Isa::neon_dotprod:
      model.bf16 = {24e9, 250e-12, 30e-12, 2e9};
      model.int8 = {96e9, 80e-12, 15e-12, 3e9};
      model.float8 = {24e9, 250e-12, 130e-12, 1e9};
      model.mx = {21e9, 350e-12, 200e-12, 1e9};
      break;
    default:
      model.bf16 = {12e9, 400e-12, 60e-12, 2e9};
      model.int8 = {24e9, 200e-12, 40e-12, 3e9};
      model.float8 = {12e9, 500e-12, 250e-12, 1e9};
      model.mx = {10e9, 600e-12, 350e-12, 1e9};
      break;
  }
  return model;
}

const MatmulRates& MachineModel::rates(Operand operand) const {
  switch (operand) {
    case Operand::bf16:
      return bf16;
    case Operand::int8:
      return int8;
    case Operand::mx:
      return mx;
    case Operand::e4m3:
    case Operand::hif8:
      return float8;
  }
  return bf16;
}

double MachineModel::barrier(int threads) const { return barrier_seconds * std::log2(static_cast<double>(threads)); }

Cost& Cost::operator+=(const Cost& other) {
  macs += other.macs;
  weight_bytes += other.weight_bytes;
  compute_seconds += other.compute_seconds;
  memory_seconds += other.memory_seconds;
  return *this;
}

Cost CostModel::matmul(Operand operand, int threads, double tokens, double columns, double k,
                       std::int64_t block_tokens) const {
  constexpr double kNarrow = 32;
  const kernels::GemmFunctions& functions = (*kernels_)[gemm_type(operand)];
  const MatmulRates& rates = machine_.rates(operand);
  const double weights = columns * k;
  Cost cost;
  cost.macs = weights * tokens;
  cost.weight_bytes = weights * cpu::weight_bytes(operand);
  double multiply = cost.macs / rates.macs;
  if (block_tokens < functions.packed_from) {  // decoded again for every group of tokens
    const double groups = std::ceil(tokens / static_cast<double>(functions.in_place_group));
    cost.compute_seconds = multiply + weights * groups * rates.decode_in_place;
  } else {
    multiply /= functions.packed_gain;
    if (columns < kNarrow) multiply *= machine_.narrow_tile;
    cost.compute_seconds = multiply + weights * rates.decode_panel;
  }
  cost.memory_seconds = cost.weight_bytes / std::min(machine_.read_bytes, machine_.shared_read_bytes / threads);
  return cost;
}

double CostModel::pack_seconds(Operand operand, double elements) const {
  return elements / machine_.rates(operand).packed_elements;
}

// q^C and q^R of that many (token, head), q^C packed, q^N rounded.
double CostModel::head_rows_seconds(double rows) const {
  const auto d = static_cast<double>(layer_.d);
  return pack_seconds(Operand::bf16, rows * d) + rows * (2 * d + kDr + kHckv) / machine_.row_elements;
}

// C and D of some heads: two matmuls, q^C packed between, the rows.
Cost CostModel::heads(int threads, double tokens, double heads, std::int64_t block_tokens) const {
  const auto d = static_cast<double>(layer_.d);
  const double head_columns = d + kDr;
  Cost cost =
      matmul(layer_.cq_operand, threads, tokens, heads * head_columns, static_cast<double>(layer_.hcq), block_tokens);
  cost += matmul(Operand::bf16, threads, tokens, heads * kHckv, d, block_tokens);
  cost.compute_seconds += head_rows_seconds(tokens * heads);
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
      cost.compute_seconds = pack_seconds(layer_.x_operand, tokens * ks);
      break;
    case Stage::pack_cq:
      cost.compute_seconds = pack_seconds(layer_.cq_operand, tokens * ks);
      break;
    case Stage::project:
      cost = matmul(layer_.x_operand, threads, tokens, columns, ks, block_tokens);
      if (!schedule.has(Stage::pack_x)) cost.compute_seconds += pack_seconds(layer_.x_operand, tokens * ks);
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
      if (!schedule.has(Stage::pack_cq)) cost.compute_seconds += pack_seconds(layer_.cq_operand, tokens * hcq);
      break;
    case Stage::query:
      cost = matmul(layer_.cq_operand, threads, tokens, columns, hcq, block_tokens);
      if (!schedule.has(Stage::pack_cq)) cost.compute_seconds += pack_seconds(layer_.cq_operand, tokens * hcq);
      break;
    case Stage::split:
      cost.compute_seconds = tokens * columns * (d + kDr) * (1 / machine_.row_elements + 4 / machine_.cached_bytes);
      break;
    case Stage::absorb: {
      const double heads = std::ceil(columns / kHckv);
      cost = matmul(Operand::bf16, threads, tokens, columns, d, block_tokens);
      cost.compute_seconds +=
          pack_seconds(Operand::bf16, tokens * heads * d) + tokens * columns / machine_.row_elements;
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
  const auto n = static_cast<double>(layer_.n);
  const auto d = static_cast<double>(layer_.d);
  const double a_columns = hcq + (layer_.writes_cache() ? static_cast<double>(kDkvColumns) : 0.0);
  double compute = pack_seconds(layer_.x_operand, tokens * he) + pack_seconds(layer_.cq_operand, tokens * hcq) +
                   tokens * a_columns / machine_.row_elements + head_rows_seconds(tokens * n);
  double bytes = 0;
  const auto add = [&](Operand operand, double columns, double k) {  // with the quicker kind of kernel
    const Cost in_place = matmul(operand, threads, tokens, columns, k, 0);
    const Cost panels = matmul(operand, threads, tokens, columns, k, std::numeric_limits<std::int64_t>::max());
    compute += std::min(in_place.compute_seconds, panels.compute_seconds);
    bytes += in_place.weight_bytes;
  };
  add(layer_.x_operand, a_columns, he);
  add(layer_.cq_operand, n * (d + kDr), hcq);
  add(Operand::bf16, n * kHckv, d);
  Cost even;
  even.compute_seconds = compute / threads;
  even.memory_seconds = bytes / std::min(machine_.shared_read_bytes, machine_.read_bytes * threads);
  return even.seconds();
}

}  // namespace mla_prolog
