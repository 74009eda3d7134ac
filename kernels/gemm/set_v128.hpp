// 128-bit words of the matmul kernels: SSE4.2 (multiply and add, which gives the bits of fma while no product leaves
// float32's normal range: contract.md section 2) and NEON. 8-bit floats are decoded by table.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <nmmintrin.h>
#endif

#include "kernels/gemm/code_tables.hpp"

namespace mla_prolog::kernels {
namespace {

struct VectorSet {
  static constexpr int kWidth = 4;
  static constexpr bool kBroadcastsInside = false;  // see set_avx512.hpp
  static constexpr int kPackedFromBf16 = 24;        // tokens from which decoding a panel pays
  static constexpr int kPackedFromInt8 = 12;
  static constexpr int kPackedFromE4m3 = 3;
  static constexpr int kPackedFromHif8 = 3;

#if defined(__aarch64__)
  static constexpr int kPanelVectors = 4;  // 16 columns
  static constexpr int kPanelTokens = 6;

  using Float = float32x4_t;
  using Int = int32x4_t;

  static Float zero() { return vdupq_n_f32(0); }
  static Float load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Float v) { vst1q_f32(p, v); }
  static Float broadcast(const float* p) { return vld1q_dup_f32(p); }
  static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
  static Float add(Float a, Float b) { return vaddq_f32(a, b); }
  static Float mul(Float a, Float b) { return vmulq_f32(a, b); }
  // b where either is NaN, as x86 has it.
  static Float min(Float a, Float b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static Float max(Float a, Float b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

  static Int load(const std::int32_t* p) { return vld1q_s32(p); }
  static void store(std::int32_t* p, Int v) { vst1q_s32(p, v); }
  static Int broadcast(const std::int32_t* p) { return vld1q_dup_s32(p); }
  static Int add(Int a, Int b) { return vaddq_s32(a, b); }
#else
  static constexpr int kPanelVectors = 2;  // 8 columns
  static constexpr int kPanelTokens = 6;

  using Float = __m128;
  using Int = __m128i;

  static Float zero() { return _mm_setzero_ps(); }
  static Float load(const float* p) { return _mm_loadu_ps(p); }
  static void store(float* p, Float v) { _mm_storeu_ps(p, v); }
  static Float broadcast(const float* p) { return _mm_set1_ps(*p); }
  static Float fma(Float a, Float b, Float c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static Float add(Float a, Float b) { return _mm_add_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm_mul_ps(a, b); }
  static Float min(Float a, Float b) { return _mm_min_ps(a, b); }  // b where either is NaN
  static Float max(Float a, Float b) { return _mm_max_ps(a, b); }

  static Int load(const std::int32_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static void store(std::int32_t* p, Int v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
  static Int broadcast(const std::int32_t* p) { return _mm_set1_epi32(*p); }
  static Int add(Int a, Int b) { return _mm_add_epi32(a, b); }
#endif

  static void prefetch_l1(const void* p) { __builtin_prefetch(p, 0, 3); }
  static void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }
};

constexpr int kTileAccumulators = VectorSet::kPanelVectors * VectorSet::kPanelTokens;

struct Bf16Decoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = kTileAccumulators;
  static constexpr float kXScale = 1.0F;

  void decode(const std::uint8_t* p, VectorSet::Float (&out)[4]) const {
    for (int i = 0; i < 2; ++i) {
#if defined(__aarch64__)
      const uint16x8_t codes = vreinterpretq_u16_u8(vld1q_u8(p + 16 * i));
      out[2 * i] = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(codes), 16));
      out[2 * i + 1] = vreinterpretq_f32_u32(vshll_high_n_u16(codes, 16));
#else
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      out[2 * i] = _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), codes));
      out[2 * i + 1] = _mm_castsi128_ps(_mm_unpackhi_epi16(_mm_setzero_si128(), codes));
#endif
    }
  }
  static void restore(VectorSet::Float (&)[4]) {}
};

template <const Bf16Table& kTable>
struct CodeDecoder {
  static constexpr int kColumns = 8;
  static constexpr int kAccumulators = kTileAccumulators;
  static constexpr float kXScale = 1.0F;

  void decode(const std::uint8_t* p, VectorSet::Float (&out)[2]) const {
    for (int i = 0; i < 2; ++i) {
      std::uint32_t bits[4];
      for (int j = 0; j < 4; ++j) bits[j] = std::uint32_t{kTable.pattern[p[4 * i + j]]} << 16;
#if defined(__aarch64__)
      out[i] = vreinterpretq_f32_u32(vld1q_u32(bits));
#else
      out[i] = _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits)));
#endif
    }
  }
  static void restore(VectorSet::Float (&)[2]) {}
};
using E4m3Decoder = CodeDecoder<kE4m3ToBf16>;
using Hif8Decoder = CodeDecoder<kHif8ToBf16>;

#if defined(__ARM_FEATURE_DOTPROD)

// Groups of 4 k, both signed.
struct IntDecoder {
  static constexpr int kColumns = 16;
  static constexpr int kAccumulators = kTileAccumulators;
  static constexpr int kGroup = 4;
  static constexpr bool kBiased = false;

  void decode(const std::uint8_t* p, int32x4_t (&out)[4]) const {
    const uint8x16_t row0 = vld1q_u8(p);
    const uint8x16_t row1 = vld1q_u8(p + 32);
    const uint8x16_t row2 = vld1q_u8(p + 64);
    const uint8x16_t row3 = vld1q_u8(p + 96);
    const uint16x8_t low01 = vreinterpretq_u16_u8(vzip1q_u8(row0, row1));
    const uint16x8_t high01 = vreinterpretq_u16_u8(vzip2q_u8(row0, row1));
    const uint16x8_t low23 = vreinterpretq_u16_u8(vzip1q_u8(row2, row3));
    const uint16x8_t high23 = vreinterpretq_u16_u8(vzip2q_u8(row2, row3));
    out[0] = vreinterpretq_s32_u16(vzip1q_u16(low01, low23));
    out[1] = vreinterpretq_s32_u16(vzip2q_u16(low01, low23));
    out[2] = vreinterpretq_s32_u16(vzip1q_u16(high01, high23));
    out[3] = vreinterpretq_s32_u16(vzip2q_u16(high01, high23));
  }
  static int32x4_t dot(int32x4_t acc, int32x4_t w, int32x4_t x) {
    return vdotq_s32(acc, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x));
  }
};

#else

// Pairs of k as int16, eight columns at a time.
struct IntDecoder {
  static constexpr int kColumns = 8;
  static constexpr int kAccumulators = kTileAccumulators;
  static constexpr int kGroup = 2;
  static constexpr bool kBiased = false;

#if defined(__aarch64__)
  void decode(const std::uint8_t* p, int32x4_t (&out)[2]) const {
    const int16x8_t row0 = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p)));
    const int16x8_t row1 = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p + 32)));
    out[0] = vreinterpretq_s32_s16(vzip1q_s16(row0, row1));
    out[1] = vreinterpretq_s32_s16(vzip2q_s16(row0, row1));
  }
  static int32x4_t dot(int32x4_t acc, int32x4_t w, int32x4_t x) {
    const int16x8_t a = vreinterpretq_s16_s32(w);
    const int16x8_t b = vreinterpretq_s16_s32(x);
    const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
    return vaddq_s32(acc, vpaddq_s32(low, vmull_high_s16(a, b)));
  }
#else
  void decode(const std::uint8_t* p, __m128i (&out)[2]) const {
    const __m128i row0 = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m128i row1 = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 32));
    const __m128i pairs = _mm_unpacklo_epi8(row0, row1);
    out[0] = _mm_cvtepi8_epi16(pairs);
    out[1] = _mm_cvtepi8_epi16(_mm_srli_si128(pairs, 8));
  }
  static __m128i dot(__m128i acc, __m128i w, __m128i x) { return _mm_add_epi32(acc, _mm_madd_epi16(w, x)); }
#endif
};

#endif

}  // namespace
}  // namespace mla_prolog::kernels
