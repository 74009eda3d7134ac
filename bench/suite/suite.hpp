// What the files of the suite have in common: roofs measured once in this run, and counters relative to them.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "mla_prolog/types.hpp"

namespace mla_prolog::bench {

struct MachineRoofs {
  double read_bytes = 0;
  double float_ops = 0;
  double int8_ops = 0;
};
// Of a set and number of threads, measured at the first request.
const MachineRoofs& machine_roofs(Isa isa, int threads);

// Work of one iteration.
struct Counted {
  double bytes = 0;  // from memory
  double float_ops = 0;
  double int8_ops = 0;
};
// GB/s, GFLOP/s (GOP/s) and the share of the roof.
void count(benchmark::State& state, const Counted& work, const MachineRoofs& roofs);

// 1 and all.
std::vector<int> thread_counts();
// "name/isa".
std::string joined(std::initializer_list<std::string> parts);

void register_roofs();
void register_rows();
void register_blocks();
void register_tiles();
void register_matmuls();
void register_stages();
void register_operator();

}  // namespace mla_prolog::bench
