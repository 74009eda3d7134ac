// The int8 peak: the best exact multiply-add of int8 into int32 that an instruction set has. Compiled once per set like
// multiply_add.cpp and under the same rule: MLA_PROLOG_PEAK_FUNCTION names the function, nothing with code is included.
#include <cstdint>

#include "tools/run/peak_vectors.hpp"

namespace mla_prolog::tools {

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept;

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept {
#if defined(MLA_PROLOG_DOT)
  using Vector [[gnu::vector_size(kVectorBytes)]] = std::int32_t;
  constexpr int kChains = 12;  // independent, to fill the pipelines; unrolled, or they would live in memory
  const Vector x{};
  Vector chains[kChains] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      Vector product;
      asm volatile(MLA_PROLOG_DOT
                   : "+" MLA_PROLOG_REGISTER(chains[i]), "=&" MLA_PROLOG_REGISTER(product)
                   : MLA_PROLOG_REGISTER(x));
    }
  }
  return static_cast<double>(rounds) * kChains * kVectorBytes * kDotOperationsPerByte;
#else
  return 0.0 * static_cast<double>(rounds);  // no instruction is known here
#endif
}

}  // namespace mla_prolog::tools
