// What xsimd has no word for, on x86: changes of element width, even and odd elements of two vectors, and the largest
// element.
//
// Packing instructions work on the 128-bit parts of wider registers, so that a permutation follows them.
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

// SSE4.2

// 16-bit codes, zero-extended.
inline Ints<xs::sse4_2> widen_u16(const std::uint16_t* p, xs::sse4_2) {
  return Ints<xs::sse4_2>(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
// The upper halves of a's lanes, then of b's.
inline Shorts<xs::sse4_2> high_halves(const Ints<xs::sse4_2>& a, const Ints<xs::sse4_2>& b) {
  return Shorts<xs::sse4_2>(_mm_packus_epi32(_mm_srli_epi32(a, 16), _mm_srli_epi32(b, 16)));
}
// Lanes of 0..255 as bytes.
inline void store_u8(std::uint8_t* p, const Ints<xs::sse4_2>& a) {
  const int word = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packus_epi32(a, a), _mm_setzero_si128()));
  std::memcpy(p, &word, sizeof word);
}
inline void store_u8(std::uint8_t* p, const Ints<xs::sse4_2>& a, const Ints<xs::sse4_2>& b, const Ints<xs::sse4_2>& c,
                     const Ints<xs::sse4_2>& d) {
  const __m128i bytes = _mm_packus_epi16(_mm_packus_epi32(a, b), _mm_packus_epi32(c, d));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
inline void store_u8(std::uint8_t* p, const Shorts<xs::sse4_2>& a, const Shorts<xs::sse4_2>& b) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(a, b));
}
// Lanes of -128..127 as bytes.
inline void store_s8(std::uint8_t* p, const Ints<xs::sse4_2>& a, const Ints<xs::sse4_2>& b, const Ints<xs::sse4_2>& c,
                     const Ints<xs::sse4_2>& d) {
  const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
// Elements 0, 2, 4, ... of a followed by b; then 1, 3, 5, ...
inline Floats<xs::sse4_2> even_elements(const Floats<xs::sse4_2>& a, const Floats<xs::sse4_2>& b) {
  return Floats<xs::sse4_2>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
}
inline Floats<xs::sse4_2> odd_elements(const Floats<xs::sse4_2>& a, const Floats<xs::sse4_2>& b) {
  return Floats<xs::sse4_2>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
}
inline std::int32_t largest_element(const Ints<xs::sse4_2>& x) {
  const __m128i pairs = _mm_max_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(1, 0, 3, 2)));
  return _mm_cvtsi128_si32(_mm_max_epi32(pairs, _mm_shuffle_epi32(pairs, _MM_SHUFFLE(2, 3, 0, 1))));
}

#if defined(__AVX2__)
inline Ints<xs::avx2> widen_u16(const std::uint16_t* p, xs::avx2) {
  return Ints<xs::avx2>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline Shorts<xs::avx2> high_halves(const Ints<xs::avx2>& a, const Ints<xs::avx2>& b) {
  const __m256i halves = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
  return Shorts<xs::avx2>(_mm256_permute4x64_epi64(halves, _MM_SHUFFLE(3, 1, 2, 0)));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx2>& a) {
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}
// The four-byte groups of packed a, b, c, d lie in the order a0 b0 c0 d0 a1 b1 c1 d1.
inline void store_packed_quad(std::uint8_t* p, __m256i bytes) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(bytes, order));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx2>& a, const Ints<xs::avx2>& b, const Ints<xs::avx2>& c,
                     const Ints<xs::avx2>& d) {
  store_packed_quad(p, _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d)));
}
inline void store_u8(std::uint8_t* p, const Shorts<xs::avx2>& a, const Shorts<xs::avx2>& b) {
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), _MM_SHUFFLE(3, 1, 2, 0));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes);
}
inline void store_s8(std::uint8_t* p, const Ints<xs::avx2>& a, const Ints<xs::avx2>& b, const Ints<xs::avx2>& c,
                     const Ints<xs::avx2>& d) {
  store_packed_quad(p, _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d)));
}
inline __m256 join_parts(__m256 parts) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(parts), _MM_SHUFFLE(3, 1, 2, 0)));
}
inline Floats<xs::avx2> even_elements(const Floats<xs::avx2>& a, const Floats<xs::avx2>& b) {
  return Floats<xs::avx2>(join_parts(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0))));
}
inline Floats<xs::avx2> odd_elements(const Floats<xs::avx2>& a, const Floats<xs::avx2>& b) {
  return Floats<xs::avx2>(join_parts(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1))));
}
inline std::int32_t largest_element(const Ints<xs::avx2>& x) {
  return largest_element(Ints<xs::sse4_2>(_mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1))));
}
#endif

#if defined(__AVX512BW__)
inline Ints<xs::avx512bw> widen_u16(const std::uint16_t* p, xs::avx512bw) {
  return Ints<xs::avx512bw>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
inline Shorts<xs::avx512bw> high_halves(const Ints<xs::avx512bw>& a, const Ints<xs::avx512bw>& b) {
  alignas(64) static constexpr std::uint16_t kOdd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                         23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                         45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return Shorts<xs::avx512bw>(_mm512_permutex2var_epi16(a, _mm512_load_si512(kOdd), b));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx512bw>& a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
// One permutation for four vectors; conversions to bytes would take two instructions' time each.
inline void store_packed_quad(std::uint8_t* p, __m512i bytes) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, bytes));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::avx512bw>& a, const Ints<xs::avx512bw>& b,
                     const Ints<xs::avx512bw>& c, const Ints<xs::avx512bw>& d) {
  store_packed_quad(p, _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d)));
}
inline void store_u8(std::uint8_t* p, const Shorts<xs::avx512bw>& a, const Shorts<xs::avx512bw>& b) {
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(a, b)));
}
inline void store_s8(std::uint8_t* p, const Ints<xs::avx512bw>& a, const Ints<xs::avx512bw>& b,
                     const Ints<xs::avx512bw>& c, const Ints<xs::avx512bw>& d) {
  store_packed_quad(p, _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)));
}
inline Floats<xs::avx512bw> even_elements(const Floats<xs::avx512bw>& a, const Floats<xs::avx512bw>& b) {
  const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return Floats<xs::avx512bw>(_mm512_permutex2var_ps(a, order, b));
}
inline Floats<xs::avx512bw> odd_elements(const Floats<xs::avx512bw>& a, const Floats<xs::avx512bw>& b) {
  const __m512i order = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return Floats<xs::avx512bw>(_mm512_permutex2var_ps(a, order, b));
}
inline std::int32_t largest_element(const Ints<xs::avx512bw>& x) {
  return largest_element(Ints<xs::avx2>(_mm256_max_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1))));
}
#endif

}  // namespace
}  // namespace mla_prolog::kernels
