// The machine's limits, measured: what a share of the roof is a share of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mla_prolog/types.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::bench {

// Seconds: of the wall, or (on a machine that others use) of this process's CPU divided by its threads.
enum class Clock { wall, cpu };
double now(Clock clock, int threads);

struct Roofs {
  double read_bytes = 0;  // per second, cold memory, all threads
  double float_ops = 0;   // fma, two operations each
  double int8_ops = 0;    // the best exact int8 instruction of the set
};

// Copies of a working set that together exceed every cache, read in rotation.
class ColdMemory {
 public:
  ColdMemory(std::size_t bytes, int copies);
  const std::byte* next();
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<std::vector<std::byte>> copies_;
  std::size_t at_ = 0;
};

// Seconds of one pass of each kind, on `threads` threads.
double seconds_to_read(ColdMemory& memory, int threads, Clock clock);
// Operations per second over a few milliseconds.
double measure_float_ops(Isa isa, int threads, Clock clock);
double measure_int8_ops(Isa isa, int threads, Clock clock);

// The least time a layer can take: weights from memory, or arithmetic, whichever is longer.
struct Work {
  double weight_bytes = 0;
  double float_ops = 0;
  double int8_ops = 0;
  double ideal_seconds(const Roofs& roofs) const;
};
Work work_of(const Layer& layer);

}  // namespace mla_prolog::bench
