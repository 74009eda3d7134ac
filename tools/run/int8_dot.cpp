// The int8 peak: the best exact multiply-add of int8 into int32 that an instruction set has. Compiled once per set like
// multiply_add.cpp and under the same rule: MLA_PROLOG_PEAK_FUNCTION names the function, nothing else is included.
#include <cstdint>

namespace mla_prolog::tools {

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept;

// In assembly: left to itself the compiler finds the result without the work. %1 is a spare register.
#if defined(__AVX512VNNI__)
#define MLA_PROLOG_DOT "vpdpbusd %2, %2, %0"
#elif defined(__AVX2__)
#define MLA_PROLOG_DOT "vpmaddwd %2, %2, %1\n\tvpaddd %1, %0, %0"
#elif defined(__ARM_FEATURE_DOTPROD)
#define MLA_PROLOG_DOT "sdot %0.4s, %2.16b, %2.16b"
#elif defined(__aarch64__)
#define MLA_PROLOG_DOT "smull %1.8h, %2.8b, %2.8b\n\tsadalp %0.4s, %1.8h"
#elif defined(__x86_64__)
#define MLA_PROLOG_DOT "movdqa %2, %1\n\tpmaddwd %2, %1\n\tpaddd %1, %0"
#endif

#if defined(__AVX512F__)
#define MLA_PROLOG_REGISTER "v"
#elif defined(__aarch64__)
#define MLA_PROLOG_REGISTER "w"
#else
#define MLA_PROLOG_REGISTER "x"
#endif

double MLA_PROLOG_PEAK_FUNCTION(std::int64_t rounds) noexcept {
#if defined(MLA_PROLOG_DOT)
#if defined(__AVX512F__)
  constexpr int kBytes = 64;
#elif defined(__AVX2__)
  constexpr int kBytes = 32;
#else
  constexpr int kBytes = 16;
#endif
#if defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
  constexpr int kOperationsPerByte = 2;  // bytes are multiplied as they are
#else
  constexpr int kOperationsPerByte = 1;  // widened to 16 bits before
#endif
  using Vector [[gnu::vector_size(kBytes)]] = std::int32_t;
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
  return static_cast<double>(rounds) * kChains * kBytes * kOperationsPerByte;
#else
  return 0.0 * static_cast<double>(rounds);  // no instruction is known here
#endif
}

}  // namespace mla_prolog::tools
