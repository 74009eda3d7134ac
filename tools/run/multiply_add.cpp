// The float32 multiply-add peak. Compiled once per instruction set: MLA_PROLOG_PEAK_FUNCTION names the function and the
// flags choose the width. Nothing with code may be included here, so that no inline function of another unit is
// compiled for a wider instruction set than the machine may have.
#include <cstdint>

#include "tools/run/peak_vectors.hpp"

namespace mla_prolog::tools {

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept;

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept {
  using Vector [[gnu::vector_size(kVectorBytes)]] = float;
  constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));
  constexpr int kChains = 12;  // independent, to fill the pipelines; with two constants they fit 16 registers
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + static_cast<float>(i + 2);  // 1 is a fixed point
  const Vector factor = Vector{} + 0.999F;
  const Vector addend = Vector{} + 0.001F;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factor + addend;
  }
  Vector total = chains[0];
  for (int i = 1; i < kChains; ++i) total += chains[i];
  float sum = 0.0F;
  for (int lane = 0; lane < kLanes; ++lane) sum += total[lane];
  // Uses the result without changing the count: the sum is finite.
  const double operations = 2.0 * kLanes * kChains * static_cast<double>(rounds);
  return sum < 1e30F ? operations : 0.0;
}

}  // namespace mla_prolog::tools
