// Loops that do nothing but what a roof counts, one set per instruction set (peaks.cpp is compiled once for each).
#pragma once

#include <cstdint>

#include "mla_prolog/types.hpp"

namespace mla_prolog::bench {

// Each runs `steps` steps on the calling thread and returns the operations done, two for each multiply-add.
struct Peaks {
  // float32 multiply-add in registers (with SSE a multiplication and an addition, as the kernels have it).
  double (*multiply_add)(std::int64_t steps);
  // The best exact int8 dot product of the set: vpdpbusd, sdot, or int16 pairs (pmaddwd, smull + sadalp).
  double (*int8_dot)(std::int64_t steps);
  // 8-bit floats from the first-level cache, decoded once by the kernels' own decoder and multiplied `reuse` times, as
  // for that many tokens. reuse is a power of two.
  double (*decode_e4m3)(std::int64_t steps, std::int64_t reuse);
  double (*decode_hif8)(std::int64_t steps, std::int64_t reuse);
};

// `isa` is one that this machine runs.
const Peaks& peaks_of(Isa isa);

}  // namespace mla_prolog::bench
