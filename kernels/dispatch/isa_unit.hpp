// What the translation unit of one instruction set exports to the registry: constant tables, and nothing else.
#pragma once

#include "kernels/row_kernels.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog::kernels {

struct GemmKernels;
struct GemmPairs;

struct IsaUnit {
  Isa isa;                           // the set it is meant for
  Isa compiled_for;                  // the set its compiler flags amount to
  const RowKernels* rows;            // null: the reference
  const GemmKernels* gemm;           // null: the reference
  const GemmPairs* pairs = nullptr;  // null: none
};

namespace {

// The best set whose instructions the flags of the including unit allow. Internal linkage, for it differs between
// units.
[[maybe_unused]] constexpr Isa compiled_isa() noexcept {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#if defined(__AVX512VNNI__)
  return Isa::avx512_vnni;
#else
  return Isa::avx512;
#endif
#elif defined(__AVX2__) && defined(__FMA__)
  return Isa::avx2;
#elif defined(__SSE4_2__)
  return Isa::sse4_2;
#elif defined(__ARM_FEATURE_DOTPROD)
  return Isa::neon_dotprod;
#elif defined(__ARM_NEON)
  return Isa::neon;
#else
  return Isa::scalar;
#endif
}

}  // namespace
}  // namespace mla_prolog::kernels
