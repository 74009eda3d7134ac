// AVX-512 (F, BW, DQ, VL) words of the matmul kernels; int8 by vpdpbusd where the unit is compiled with VNNI, by
// vpmaddwd otherwise.
#pragma once

#include <immintrin.h>

#include "kernels/gemm/code_tables.hpp"

namespace mla_prolog::kernels {
namespace {

struct VectorSet {
  static constexpr int kWidth = 16;        // float32 or int32 lanes
  static constexpr int kPanelVectors = 4;  // 64 columns
  static constexpr int kPanelTokens = 6;
  static constexpr int kPackedFromBf16 = 96;  // tokens from which decoding a panel pays
  static constexpr int kPackedFromInt8 = 64;
  static constexpr int kPackedFromE4m3 = 48;
  static constexpr int kPackedFromHif8 = 24;

  // Whether broadcasts are left to the instructions that multiply. Through registers, they would take up to a third of
  // the results per cycle of cores that write 512 bits as two halves.
  static constexpr bool kBroadcastsInside = true;
  using Float = __m512;
  using Int = __m512i;

  static Float zero() { return _mm512_setzero_ps(); }
  static Float load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Float v) { _mm512_storeu_ps(p, v); }
  static Float broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float min(Float a, Float b) { return _mm512_min_ps(a, b); }  // b where either is NaN
  static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }

  static Int load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::int32_t* p, Int v) { _mm512_storeu_si512(p, v); }
  static Int broadcast(const std::int32_t* p) { return _mm512_set1_epi32(*p); }
  static Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }

  static void prefetch_l1(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_l2(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
};

struct Bf16Decoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = 24;  // registers left to a tile
  static constexpr float kXScale = 1.0F;

  void decode(const std::uint8_t* p, __m512 (&out)[1]) const {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    out[0] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(codes), 16));
  }
  static void restore(__m512 (&)[1]) {}
};

// As float16 of 2^-8 times the value, which needs only shifts; the left operand carries the 2^8.
struct E4m3Decoder {
  static constexpr int kColumns = 32;
  static constexpr int kAccumulators = 24;
  static constexpr float kXScale = 256.0F;

  void decode(const std::uint8_t* p, __m512 (&out)[2]) const {
    for (int i = 0; i < 2; ++i) {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      // The sign twice, above the magnitude. Of these, adding 1 to the magnitude flips the lower one for the NaN body
      // only; the other codes must lose it.
      const __m256i twice = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7);
      const __m256i carried = _mm256_add_epi16(twice, _mm256_set1_epi16(0x80));
      constexpr int kFirstXorAnd = 0x78;  // a ^ (b & c)
      out[i] = _mm512_cvtph_ps(_mm256_ternarylogic_epi32(twice, carried, _mm256_set1_epi16(0x4000), kFirstXorAnd));
    }
  }
  static void restore(__m512 (&)[2]) {}
};

// By looking up the magnitude's bf16 pattern. Even columns come out in the first vector, odd ones in the second;
// `restore` interleaves.
struct Hif8Decoder {
  static constexpr int kColumns = 32;
  static constexpr int kAccumulators = 18;
  static constexpr float kXScale = 1.0F;

  __m512i table[4];

  Hif8Decoder() {
    for (int i = 0; i < 4; ++i) table[i] = _mm512_load_si512(kHif8ToBf16.pattern + 32 * i);
  }

  void decode(const std::uint8_t* p, __m512 (&out)[2]) const {
    const __m512i code = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    const __m512i low = _mm512_permutex2var_epi16(table[0], code, table[1]);
    const __m512i high = _mm512_permutex2var_epi16(table[2], code, table[3]);
    const __m512i magnitude = _mm512_mask_blend_epi16(_mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40)), low, high);
    // magnitude | (sign bit of the code)
    constexpr int kOrAnd = 0xF8;
    __m512i value = _mm512_ternarylogic_epi32(magnitude, _mm512_slli_epi16(code, 8),
                                              _mm512_set1_epi16(static_cast<short>(0x8000)), kOrAnd);
    value = _mm512_mask_mov_epi16(value, _mm512_cmpeq_epi16_mask(code, _mm512_set1_epi16(0x80)),
                                  _mm512_set1_epi16(static_cast<short>(kBf16Nan)));
    out[0] = _mm512_castsi512_ps(_mm512_slli_epi32(value, 16));
    out[1] = _mm512_castsi512_ps(_mm512_and_si512(value, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
  }

  static void restore(__m512 (&v)[2]) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    const __m512 even = v[0];
    v[0] = _mm512_permutex2var_ps(even, low, v[1]);
    v[1] = _mm512_permutex2var_ps(even, high, v[1]);
  }
};

#if defined(__AVX512VNNI__)

// Groups of 4 k: unsigned weights (w + 128) times signed x, corrected by -128 * sum(x).
struct IntDecoder {
  static constexpr int kColumns = 32;
  static constexpr int kAccumulators = 24;
  static constexpr int kGroup = 4;
  static constexpr bool kBiased = true;

  // Four rows of 32 columns to 2 x 16 columns of 4 k each. Lane by lane: two rows' next 4 columns and, in the other
  // half, those rows' columns for the second vector; the two pairs of rows exchange halves; then the bytes of each
  // column are brought together.
  void decode(const std::uint8_t* p, __m512i (&out)[2]) const {
    const __m512i first_half = _mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    const __m512i second_half = _mm512_setr_epi32(4, 12, 0, 8, 5, 13, 1, 9, 6, 14, 2, 10, 7, 15, 3, 11);
    const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
    const __m512i rows01 = _mm512_permutexvar_epi32(first_half, _mm512_xor_si512(bias, _mm512_loadu_si512(p)));
    const __m512i rows23 = _mm512_permutexvar_epi32(second_half, _mm512_xor_si512(bias, _mm512_loadu_si512(p + 64)));
    constexpr __mmask8 kSecondHalves = 0xAA;
    const __m128i in_order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i halves_exchanged = _mm_setr_epi8(8, 12, 0, 4, 9, 13, 1, 5, 10, 14, 2, 6, 11, 15, 3, 7);
    out[0] =
        _mm512_shuffle_epi8(_mm512_mask_blend_epi64(kSecondHalves, rows01, rows23), _mm512_broadcast_i32x4(in_order));
    out[1] = _mm512_shuffle_epi8(_mm512_mask_blend_epi64(kSecondHalves, rows23, rows01),
                                 _mm512_broadcast_i32x4(halves_exchanged));
  }
  static __m512i dot(__m512i acc, __m512i w, __m512i x) { return _mm512_dpbusd_epi32(acc, w, x); }
  // dot with x broadcast. Written out, for GCC does not know the instruction's own broadcast (see
  // VectorSet::kBroadcastsInside).
  static __m512i dot_inside(__m512i acc, __m512i w, const std::int32_t* x) {
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*x));
    return acc;
  }
};

#else

// Pairs of k as int16.
struct IntDecoder {
  static constexpr int kColumns = 32;
  static constexpr int kAccumulators = 24;
  static constexpr int kGroup = 2;
  static constexpr bool kBiased = false;

  void decode(const std::uint8_t* p, __m512i (&out)[2]) const {
    const __m256i row0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i row1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
    const __m256i low = _mm256_unpacklo_epi8(row0, row1);   // columns 0-7, 16-23
    const __m256i high = _mm256_unpackhi_epi8(row0, row1);  // columns 8-15, 24-31
    out[0] = _mm512_cvtepi8_epi16(_mm256_permute2x128_si256(low, high, 0x20));
    out[1] = _mm512_cvtepi8_epi16(_mm256_permute2x128_si256(low, high, 0x31));
  }
  static __m512i dot(__m512i acc, __m512i w, __m512i x) { return _mm512_add_epi32(acc, _mm512_madd_epi16(w, x)); }
};

#endif

}  // namespace
}  // namespace mla_prolog::kernels
