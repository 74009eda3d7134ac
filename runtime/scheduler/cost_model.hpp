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

// What the model knows of the machine. Rates are per thread.
struct MachineModel {
  double read_bytes = 13e9;          // per second, cold
  double shared_read_bytes = 400e9;  // per second, all threads together
  double float_macs = 52e9;
  double int8_macs = 210e9;
  double decoded_weights = 4e9;   // weights per second that a panel costs beyond its multiplications
  double packed_elements = 1e9;   // left-operand elements per second
  double row_elements = 2e9;      // elements of the row steps per second
  double cached_bytes = 20e9;     // per second, what another thread has just written
  double barrier_seconds = 5e-7;  // for each doubling of the threads

  static MachineModel of(Isa isa);
  double barrier(int threads) const;
};

struct Cost {
  double macs = 0;
  double weight_bytes = 0;
  double compute_seconds = 0;
  double memory_seconds = 0;

  // Memory streams while the thread computes.
  double seconds() const { return compute_seconds > memory_seconds ? compute_seconds : memory_seconds; }
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
  struct Weights;
  Cost matmul(const Weights& weights, int threads, double tokens, double columns, double k,
              std::int64_t block_tokens) const;
  Weights x_weights() const;
  Weights cq_weights() const;
  Weights uk_weights() const;
  Cost heads(int threads, double tokens, double heads, std::int64_t block_tokens) const;

  Layer layer_;
  const kernels::GemmKernels* kernels_;
  MachineModel machine_;
};

}  // namespace mla_prolog
