// How a layer is spread over tokens and threads, and the model of its cost that decides.
//
// A team of `threads` is `groups` crews of `crew` threads. Blocks of tokens go round the crews; inside a crew the
// columns of weight_dq and weight_dkv_kr, then the tokens, then the heads are divided, with a barrier between (none
// when the crew is one thread). Few tokens: one crew, the weights are read once by all threads together. Many tokens:
// crews of one thread. In between: both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/gemm_kernels.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog {

// What the model knows of the machine. Rates are per thread.
struct MachineModel {
  double read_bytes = 13e9;          // per second, cold
  double shared_read_bytes = 400e9;  // per second, all threads together
  double float_macs = 52e9;
  double int8_macs = 210e9;
  double decoded_weights = 4e9;  // weights per second that a panel costs beyond its multiplications
  double packed_elements = 1e9;  // left-operand elements per second
  double row_elements = 2e9;     // elements of the row steps per second
  double barrier_seconds = 1e-6;

  static MachineModel of(Isa isa);
};

struct StageCost {
  const char* name = "";
  double macs = 0;
  double weight_bytes = 0;
  double compute_seconds = 0;
  double memory_seconds = 0;
  double seconds() const { return compute_seconds > memory_seconds ? compute_seconds : memory_seconds; }
};

struct Schedule {
  int threads = 1;
  int groups = 1;
  int crew = 1;
  std::int64_t tokens = 0;
  std::int64_t blocks = 1;  // of about tokens / blocks tokens
  // The model's view of one block: stages A, B, C, D, and the whole.
  std::vector<StageCost> stages;
  double barrier_seconds = 0;
  double total_seconds = 0;

  // Tokens of block b: [first, first + count).
  std::int64_t first_token(std::int64_t b) const { return tokens * b / blocks; }
  std::int64_t max_block_tokens() const { return (tokens + blocks - 1) / blocks; }
  std::string to_string() const;
};

// The cheapest schedule by the model; `block_tokens` > 0 forces the height of blocks (for tests and experiments), and
// `groups` > 0 the number of crews where it divides the threads.
Schedule make_schedule(const Layer& layer, const kernels::GemmKernels& kernels, const MachineModel& machine,
                       int threads, std::int64_t block_tokens = 0, int groups = 0);

}  // namespace mla_prolog
