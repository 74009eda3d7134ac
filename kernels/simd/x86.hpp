// What xsimd has no word for, on x86: changes of element width, and even and odd elements of two vectors.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "kernels/simd/lanes.hpp"

namespace mla_prolog::kernels {
namespace {

// Correctly rounded; named because on other architectures xsimd's operator is not.
template <class A>
inline Floats<A> divide(const Floats<A>& a, const Floats<A>& b) {
  return a / b;
}

// 16-bit codes, zero-extended.
inline Ints<xs::sse4_2> widen_u16(const std::uint16_t* p, xs::sse4_2) {
  return Ints<xs::sse4_2>(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
// The upper halves of a's lanes, then of b's.
inline void store_high16(std::uint16_t* p, const Ints<xs::sse4_2>& a, const Ints<xs::sse4_2>& b) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16)));
}
// The low bytes.
inline void store_u8(std::uint8_t* p, const Ints<xs::sse4_2>& x) {
  const __m128i picked =
      _mm_shuffle_epi8(x, _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  const int word = _mm_cvtsi128_si32(picked);
  std::memcpy(p, &word, sizeof word);
}
inline void store_u8(std::uint8_t* p, const Ints<xs::sse4_2>& a, const Ints<xs::sse4_2>& b, const Ints<xs::sse4_2>& c,
                     const Ints<xs::sse4_2>& d) {
  const __m128i mask = _mm_set1_epi32(0xFF);
  const __m128i low = _mm_packus_epi32(_mm_and_si128(a, mask), _mm_and_si128(b, mask));
  const __m128i high = _mm_packus_epi32(_mm_and_si128(c, mask), _mm_and_si128(d, mask));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(low, high));
}
// Elements 0, 2, 4, ... of a followed by b; then 1, 3, 5, ...
inline Floats<xs::sse4_2> even_elements(const Floats<xs::sse4_2>& a, const Floats<xs::sse4_2>& b) {
  return Floats<xs::sse4_2>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
}
inline Floats<xs::sse4_2> odd_elements(const Floats<xs::sse4_2>& a, const Floats<xs::sse4_2>& b) {
  return Floats<xs::sse4_2>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
}

#if defined(__AVX2__)
inline Ints<xs::avx2> widen_u16(const std::uint16_t* p, xs::avx2) {
  return Ints<xs::avx2>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline void store_high16(std::uint16_t* p, const Ints<xs::avx2>& a, const Ints<xs::avx2>& b) {
  const __m256i halves = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(halves, _MM_SHUFFLE(3, 1, 2, 0)));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx2>& x) {
  const __m256i picked = _mm256_shuffle_epi8(
      x, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
  const __m128i joined = _mm_unpacklo_epi32(_mm256_castsi256_si128(picked), _mm256_extracti128_si256(picked, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), joined);
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx2>& a, const Ints<xs::avx2>& b, const Ints<xs::avx2>& c,
                     const Ints<xs::avx2>& d) {
  const __m256i mask = _mm256_set1_epi32(0xFF);
  const __m256i low = _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
  const __m256i high = _mm256_packus_epi32(_mm256_and_si256(c, mask), _mm256_and_si256(d, mask));
  // The packs work on 128-bit halves: four-byte groups lie in order a0 b0 c0 d0 a1 b1 c1 d1.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
}
inline Floats<xs::avx2> even_elements(const Floats<xs::avx2>& a, const Floats<xs::avx2>& b) {
  const __m256 halves = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0));
  return Floats<xs::avx2>(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), _MM_SHUFFLE(3, 1, 2, 0))));
}
inline Floats<xs::avx2> odd_elements(const Floats<xs::avx2>& a, const Floats<xs::avx2>& b) {
  const __m256 halves = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1));
  return Floats<xs::avx2>(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), _MM_SHUFFLE(3, 1, 2, 0))));
}
#endif

#if defined(__AVX512BW__)
inline Ints<xs::avx512bw> widen_u16(const std::uint16_t* p, xs::avx512bw) {
  return Ints<xs::avx512bw>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
inline void store_high16(std::uint16_t* p, const Ints<xs::avx512bw>& a, const Ints<xs::avx512bw>& b) {
  alignas(64) static constexpr std::uint16_t kOdd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                         23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                         45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  _mm512_storeu_si512(p, _mm512_permutex2var_epi16(a, _mm512_load_si512(kOdd), b));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx512bw>& x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx512bw>& a, const Ints<xs::avx512bw>& b,
                     const Ints<xs::avx512bw>& c, const Ints<xs::avx512bw>& d) {
  store_u8(p, a);
  store_u8(p + 16, b);
  store_u8(p + 32, c);
  store_u8(p + 48, d);
}
inline Floats<xs::avx512bw> even_elements(const Floats<xs::avx512bw>& a, const Floats<xs::avx512bw>& b) {
  const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return Floats<xs::avx512bw>(_mm512_permutex2var_ps(a, order, b));
}
inline Floats<xs::avx512bw> odd_elements(const Floats<xs::avx512bw>& a, const Floats<xs::avx512bw>& b) {
  const __m512i order = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return Floats<xs::avx512bw>(_mm512_permutex2var_ps(a, order, b));
}
#endif

}  // namespace
}  // namespace mla_prolog::kernels
