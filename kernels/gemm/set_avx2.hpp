// AVX2 + FMA + F16C words of the matmul kernels. int8 by vpmaddwd on int16 pairs, which cannot saturate (vpmaddubsw
// can).
#pragma once

#include <immintrin.h>

#include "kernels/gemm/code_tables.hpp"

namespace mla_prolog::kernels {
namespace {

struct VectorSet {
  static constexpr int kWidth = 8;
  static constexpr int kPanelVectors = 2;  // 16 columns
  static constexpr int kPanelTokens = 6;
  static constexpr int kPackedFromBf16 = 64;  // tokens from which decoding a panel pays
  static constexpr int kPackedFromInt8 = 24;
  static constexpr int kPackedFromE4m3 = 8;
  static constexpr int kPackedFromHif8 = 3;

  static constexpr bool kBroadcastsInside = false;  // see set_avx512.hpp
  using Float = __m256;
  using Int = __m256i;

  static Float zero() { return _mm256_setzero_ps(); }
  static Float load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Float v) { _mm256_storeu_ps(p, v); }
  static Float broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float min(Float a, Float b) { return _mm256_min_ps(a, b); }  // b where either is NaN
  static Float max(Float a, Float b) { return _mm256_max_ps(a, b); }

  static Int load(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(std::int32_t* p, Int v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Int broadcast(const std::int32_t* p) { return _mm256_set1_epi32(*p); }
  static Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }

  static void prefetch_l1(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_l2(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
};

// Even columns come out in the first vector, odd ones in the second; `restore` interleaves.
struct Bf16Decoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = 12;
  static constexpr float kXScale = 1.0F;

  void decode(const std::uint8_t* p, __m256 (&out)[2]) const {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    out[0] = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 16));
    out[1] = _mm256_castsi256_ps(_mm256_and_si256(codes, _mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
  }
  static void restore(__m256 (&v)[2]) {
    const __m256 low = _mm256_unpacklo_ps(v[0], v[1]);   // columns 0-3, 8-11
    const __m256 high = _mm256_unpackhi_ps(v[0], v[1]);  // columns 4-7, 12-15
    v[0] = _mm256_permute2f128_ps(low, high, 0x20);
    v[1] = _mm256_permute2f128_ps(low, high, 0x31);
  }
};

// As float16 of 2^-8 times the value, which needs only shifts; the left operand carries the 2^8.
struct E4m3Decoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = 12;
  static constexpr float kXScale = 256.0F;

  void decode(const std::uint8_t* p, __m256 (&out)[2]) const {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // The sign twice, above the magnitude. Of these, adding 1 to the magnitude flips the lower one for the NaN body
    // only; the other codes must lose it.
    const __m256i twice = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7);
    const __m256i carried = _mm256_add_epi16(twice, _mm256_set1_epi16(0x80));
    const __m256i half = _mm256_xor_si256(twice, _mm256_and_si256(carried, _mm256_set1_epi16(0x4000)));
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
  }
  static void restore(__m256 (&)[2]) {}
};

// As float16, whose range holds all of HiFloat8 (the smallest values as subnormals). The high byte (sign, exponent, two
// fraction bits) is a table of the low nibble for each high nibble; the low byte is rarely more than the third fraction
// bit.
struct Hif8Decoder {
  static constexpr int kColumns = 32;
  static constexpr int kAccumulators = 8;
  static constexpr float kXScale = 1.0F;

  alignas(16) static constexpr std::uint8_t kHigh[8][16] = {
      {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x3C, 0x3C, 0x3D, 0x3D, 0x3E, 0x3E, 0x3F, 0x3F},
      {0x40, 0x40, 0x41, 0x41, 0x42, 0x42, 0x43, 0x43, 0x38, 0x38, 0x39, 0x39, 0x3A, 0x3A, 0x3B, 0x3B},
      {0x44, 0x44, 0x45, 0x45, 0x46, 0x46, 0x47, 0x47, 0x48, 0x48, 0x49, 0x49, 0x4A, 0x4A, 0x4B, 0x4B},
      {0x34, 0x34, 0x35, 0x35, 0x36, 0x36, 0x37, 0x37, 0x30, 0x30, 0x31, 0x31, 0x32, 0x32, 0x33, 0x33},
      {0x4C, 0x4D, 0x4E, 0x4F, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x5B},
      {0x2C, 0x2D, 0x2E, 0x2F, 0x28, 0x29, 0x2A, 0x2B, 0x24, 0x25, 0x26, 0x27, 0x20, 0x21, 0x22, 0x23},
      {0x5C, 0x5E, 0x60, 0x62, 0x64, 0x66, 0x68, 0x6A, 0x6C, 0x6E, 0x70, 0x72, 0x74, 0x76, 0x78, 0x7C},
      {0x1C, 0x1E, 0x18, 0x1A, 0x14, 0x16, 0x10, 0x12, 0x0C, 0x0E, 0x08, 0x0A, 0x04, 0x06, 0x02, 0x03},
  };
  // Low bytes of the denormal row; with an index byte whose top bit is set vpshufb gives 0.
  alignas(16) static constexpr std::uint8_t kLow[16] = {0, 4,    8, 0x10, 0x20, 0x40, 0x80, 0,
                                                        0, 0x80, 0, 0x80, 0,    0x80, 0,    0x80};
  // Rows whose codes have three fraction bits.
  alignas(16) static constexpr std::uint8_t kThird[16] = {0, 0x80, 0x80, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

  static __m256i table(const std::uint8_t* t) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(t)));
  }

  void decode(const std::uint8_t* p, __m256 (&out)[4]) const {
    const __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i low_nibble = _mm256_and_si256(code, _mm256_set1_epi8(0x0F));
    const __m256i row = _mm256_and_si256(_mm256_srli_epi16(code, 4), _mm256_set1_epi8(0x07));
    const __m256i body = _mm256_and_si256(code, _mm256_set1_epi8(0x7F));
    // Choose among the eight rows by code bits 4, 5 and 6, moved to the top of each byte.
    const __m256i bit4 = _mm256_slli_epi16(code, 3);
    const __m256i bit5 = _mm256_slli_epi16(code, 2);
    const __m256i bit6 = _mm256_slli_epi16(code, 1);
    __m256i rows[4];
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm256_blendv_epi8(_mm256_shuffle_epi8(table(kHigh[2 * i]), low_nibble),
                                   _mm256_shuffle_epi8(table(kHigh[2 * i + 1]), low_nibble), bit4);
    }
    const __m256i magnitude = _mm256_blendv_epi8(_mm256_blendv_epi8(rows[0], rows[1], bit5),
                                                 _mm256_blendv_epi8(rows[2], rows[3], bit5), bit6);
    const __m256i sign = _mm256_and_si256(code, _mm256_set1_epi8(static_cast<char>(0x80)));
    const __m256i nan =
        _mm256_and_si256(_mm256_cmpeq_epi8(code, _mm256_set1_epi8(static_cast<char>(0x80))), _mm256_set1_epi8(0x7E));
    const __m256i high = _mm256_or_si256(_mm256_or_si256(magnitude, sign), nan);
    const __m256i denormal = _mm256_shuffle_epi8(table(kLow), _mm256_adds_epu8(body, _mm256_set1_epi8(0x70)));
    const __m256i third = _mm256_and_si256(_mm256_slli_epi16(code, 7), _mm256_shuffle_epi8(table(kThird), row));
    const __m256i low = _mm256_or_si256(denormal, third);
    const __m256i half0 = _mm256_unpacklo_epi8(low, high);  // columns 0-7, 16-23
    const __m256i half1 = _mm256_unpackhi_epi8(low, high);  // columns 8-15, 24-31
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(half0));
    out[1] = _mm256_cvtph_ps(_mm256_castsi256_si128(half1));
    out[2] = _mm256_cvtph_ps(_mm256_extracti128_si256(half0, 1));
    out[3] = _mm256_cvtph_ps(_mm256_extracti128_si256(half1, 1));
  }
  static void restore(__m256 (&)[4]) {}
};

struct IntDecoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = 12;
  static constexpr int kGroup = 2;
  static constexpr bool kBiased = false;

  // Two rows of 16 columns, 32 bytes apart.
  void decode(const std::uint8_t* p, __m256i (&out)[2]) const {
    const __m128i row0 = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i row1 = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 32));
    out[0] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(row0, row1));
    out[1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(row0, row1));
  }
  static __m256i dot(__m256i acc, __m256i w, __m256i x) { return _mm256_add_epi32(acc, _mm256_madd_epi16(w, x)); }
};

}  // namespace
}  // namespace mla_prolog::kernels
