#if defined(__AVX512F__)
#include "kernels/gemm/set_avx512.hpp"
#elif defined(__AVX2__)
#include "kernels/gemm/set_avx2.hpp"
#else
#include "kernels/gemm/set_v128.hpp"
#endif
//
#include <cstddef>

#include "bench/support/peaks_table.hpp"
#include "tools/run/peak_vectors.hpp"

// A value that the compiler must keep in a register and cannot know.
#define MLA_PROLOG_KEEP(value) asm volatile("" : "+" MLA_PROLOG_REGISTER(value))

namespace mla_prolog::bench {
namespace {

using kernels::VectorSet;
using Float = VectorSet::Float;
using Int = VectorSet::Int;

// Independent accumulators: more than latency times ports. Every loop over them is unrolled, or they would live in
// memory.
constexpr int kChains = 12;

double multiply_add(std::int64_t steps) {
  Float x = VectorSet::zero();
  Float acc[kChains];
#pragma GCC unroll 12
  for (Float& a : acc) {
    a = VectorSet::zero();
    MLA_PROLOG_KEEP(a);
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    MLA_PROLOG_KEEP(x);
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = VectorSet::fma(x, x, acc[c]);
  }
#pragma GCC unroll 12
  for (Float& a : acc) MLA_PROLOG_KEEP(a);
  return static_cast<double>(steps) * kChains * VectorSet::kWidth * 2;
}

double int8_dot(std::int64_t steps) {
  constexpr std::int32_t kZero = 0;
  const Int x = VectorSet::broadcast(&kZero);
  Int acc[kChains];
#pragma GCC unroll 12
  for (Int& a : acc) a = VectorSet::broadcast(&kZero);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      Int product;
      asm volatile(MLA_PROLOG_DOT
                   : "+" MLA_PROLOG_REGISTER(acc[c]), "=&" MLA_PROLOG_REGISTER(product)
                   : MLA_PROLOG_REGISTER(x));
    }
  }
  return static_cast<double>(steps) * kChains * tools::kVectorBytes * tools::kDotOperationsPerByte;
}

// Codes enough for a few hundred steps without leaving the first-level cache.
constexpr std::int64_t kCodes = 8192;
alignas(64) std::uint8_t codes[kCodes];

// Each step decodes kParallel vectors' worth of columns and multiplies each kReuse times per round, so that at least
// eight chains of multiply-adds are under way.
template <typename Decoder>
constexpr auto kVectors = static_cast<std::size_t>(Decoder::kColumns / VectorSet::kWidth);

template <typename Decoder, std::size_t kReuse>
double decode_and_multiply(std::int64_t steps, std::int64_t rounds) {
  constexpr std::size_t kParallel = kReuse * kVectors<Decoder> >= 8 ? 1 : 8 / (kReuse * kVectors<Decoder>);
  constexpr std::size_t kAccumulators = kParallel * kReuse * kVectors<Decoder>;
  const Decoder decoder{};
  Float x = VectorSet::zero();
  Float acc[kAccumulators];
#pragma GCC unroll 12
  for (Float& a : acc) {
    a = VectorSet::zero();
    MLA_PROLOG_KEEP(a);
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    MLA_PROLOG_KEEP(x);
#pragma GCC unroll 8
    for (std::size_t p = 0; p < kParallel; ++p) {
      Float w[kVectors<Decoder>];
      decoder.decode(codes + at, w);
      at = (at + Decoder::kColumns) % kCodes;
      Float* const own = acc + p * kReuse * kVectors<Decoder>;
      for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kReuse * kVectors<Decoder>; ++j) {
          own[j] = VectorSet::fma(x, w[j % kVectors<Decoder>], own[j]);
        }
      }
    }
  }
#pragma GCC unroll 12
  for (Float& a : acc) MLA_PROLOG_KEEP(a);
  return static_cast<double>(steps * rounds) * static_cast<double>(kParallel * kReuse) * Decoder::kColumns * 2;
}

template <typename Decoder>
double decode(std::int64_t steps, std::int64_t reuse) {
  if (reuse % 4 == 0 && kVectors<Decoder> <= 2) return decode_and_multiply<Decoder, 4>(steps, reuse / 4);
  if (reuse % 2 == 0) return decode_and_multiply<Decoder, 2>(steps, reuse / 2);
  return decode_and_multiply<Decoder, 1>(steps, reuse);
}

}  // namespace

#define MLA_PROLOG_JOIN(a, b) a##b
#define MLA_PROLOG_PEAKS(isa) MLA_PROLOG_JOIN(peaks_, isa)
extern constinit const Peaks MLA_PROLOG_PEAKS(MLA_PROLOG_ISA_NAME) = {
    multiply_add, int8_dot, decode<kernels::E4m3Decoder>, decode<kernels::Hif8Decoder>};

}  // namespace mla_prolog::bench
