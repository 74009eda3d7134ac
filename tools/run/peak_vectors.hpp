// The widest vectors of the instruction set that a unit is compiled for, and its best exact multiply-add of int8 into
// int32: for the loops that measure peaks, here and in the benchmarks. Nothing but constants and words of the
// preprocessor, so that a unit of a wide set may include it.
#pragma once

namespace mla_prolog::tools {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#define MLA_PROLOG_REGISTER "v"
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#define MLA_PROLOG_REGISTER "x"
#elif defined(__aarch64__)
inline constexpr int kVectorBytes = 16;
#define MLA_PROLOG_REGISTER "w"
#else
inline constexpr int kVectorBytes = 16;
#define MLA_PROLOG_REGISTER "x"
#endif

// %0 += %2 . %2, with %1 as a spare register. In assembly: the compiler would copy registers, or find the result
// without the work.
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

// Operations of MLA_PROLOG_DOT per byte of a vector, two for each multiply-add.
#if defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
inline constexpr int kDotOperationsPerByte = 2;  // bytes are multiplied as they are
#else
inline constexpr int kDotOperationsPerByte = 1;  // widened to 16 bits before
#endif

}  // namespace mla_prolog::tools
