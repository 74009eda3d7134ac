// What a tile costs, by the sizes of the layer and a few rates of the machine: multiplications, weights that are
// decoded, left operands that are packed, rows, and bytes that come from memory. Times are estimates; what they decide
// is only how tokens, columns and k are divided.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm_kernels.hpp"
#include "runtime/backend/cpu/matmul.hpp"
#include "runtime/problem/layer.hpp"
#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog {

// What one thread does with operands of one type.
struct MatmulRates {
  double macs;             // per second
  double decode_panel;     // seconds a weight, once for all tokens of a tile
  double decode_in_place;  // seconds a weight, for each group of tokens
  double packed_elements;  // of the left operand, per second
};

// What the model knows of the machine. Rates are per thread. Those of matmuls were measured for the larger x86 sets
// (`of`), the others are assumptions.
struct MachineModel {
  double read_bytes = 13e9;          // per second, cold
  double shared_read_bytes = 400e9;  // per second, all threads together
  MatmulRates bf16{};
  MatmulRates int8{};
  MatmulRates float8{};  // E4M3, HiF8
  MatmulRates mx{};
  double narrow_tile = 1.4;       // how much longer multiplications take with less than two vectors of columns
  double row_elements = 2e9;      // elements of the row steps per second
  double cached_bytes = 20e9;     // per second, what another thread has just written
  double barrier_seconds = 5e-7;  // for each doubling of the threads

  static MachineModel of(Isa isa);
  const MatmulRates& rates(Operand operand) const;
  double barrier(int threads) const;
};

struct Cost {
  double macs = 0;
  double weight_bytes = 0;
  double compute_seconds = 0;
  double memory_seconds = 0;

  // Memory streams while the thread computes, yet the shorter of the two does not vanish behind the longer: the share
  // that shows was measured where both take about as long.
  double seconds() const {
    constexpr double kExposed = 0.4;
    return compute_seconds > memory_seconds ? compute_seconds + kExposed * memory_seconds
                                            : memory_seconds + kExposed * compute_seconds;
  }
  Cost& operator+=(const Cost& other);
};

class CostModel {
 public:
  CostModel(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine)
      : layer_(layer), kernels_(&kernels), machine_(machine) {}

  // One tile of a block of `block_tokens`.
  Cost tile(const Schedule& schedule, Stage stage, const Tile& tile, std::int64_t block_tokens) const;
  // Of a barrier of the whole team.
  double barrier(const Schedule& schedule) const { return schedule.crew > 1 ? machine_.barrier(schedule.threads) : 0; }
  // What no division among `threads` can beat: all work done once, evenly spread, weights read once.
  double ideal_seconds(int threads) const;

 private:
  Cost matmul(Operand operand, int threads, double tokens, double columns, double k, std::int64_t block_tokens) const;
  // Packing a left operand.
  double pack_seconds(Operand operand, double elements) const;
  double head_rows_seconds(double rows) const;
  Cost heads(int threads, double tokens, double heads, std::int64_t block_tokens) const;

  Layer layer_;
  const kernels::GemmKernels* kernels_;
  MachineModel machine_;
};

}  // namespace mla_prolog
