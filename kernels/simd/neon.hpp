// What xsimd has no word for, on AArch64: changes of element width, even and odd elements of two vectors, the largest
// element, and a division that is one.
#pragma once

#include <arm_neon.h>

#include <cstring>

#include "kernels/simd/lanes.hpp"

namespace mla_prolog::kernels {
namespace {

// Correctly rounded, which xsimd 8.1's operator is not on NEON: it multiplies by a refined estimate of the reciprocal.
inline Floats<xs::neon64> divide(const Floats<xs::neon64>& a, const Floats<xs::neon64>& b) {
  return Floats<xs::neon64>(vdivq_f32(a, b));
}

// 16-bit codes, zero-extended.
inline Ints<xs::neon64> widen_u16(const std::uint16_t* p, xs::neon64) {
  return Ints<xs::neon64>(vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))));
}
// The upper halves of a's lanes, then of b's.
inline Shorts<xs::neon64> high_halves(const Ints<xs::neon64>& a, const Ints<xs::neon64>& b) {
  return Shorts<xs::neon64>(vuzp2q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
// Lanes as bytes. Those above the lowest are dropped, whatever the sign.
inline void store_u8(std::uint8_t* p, const Ints<xs::neon64>& a) {
  const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(a));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  const std::uint32_t word = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  std::memcpy(p, &word, sizeof word);
}
inline void store_u8(std::uint8_t* p, const Shorts<xs::neon64>& a, const Shorts<xs::neon64>& b) {
  vst1q_u8(p, vuzp1q_u8(vreinterpretq_u8_s16(a), vreinterpretq_u8_s16(b)));
}
inline void store_u8(std::uint8_t* p, const Ints<xs::neon64>& a, const Ints<xs::neon64>& b, const Ints<xs::neon64>& c,
                     const Ints<xs::neon64>& d) {
  store_u8(p, Shorts<xs::neon64>(vuzp1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b))),
           Shorts<xs::neon64>(vuzp1q_s16(vreinterpretq_s16_s32(c), vreinterpretq_s16_s32(d))));
}
inline void store_s8(std::uint8_t* p, const Ints<xs::neon64>& a, const Ints<xs::neon64>& b, const Ints<xs::neon64>& c,
                     const Ints<xs::neon64>& d) {
  store_u8(p, a, b, c, d);
}
// Elements 0, 2, 4, ... of a followed by b; then 1, 3, 5, ...
inline Floats<xs::neon64> even_elements(const Floats<xs::neon64>& a, const Floats<xs::neon64>& b) {
  return Floats<xs::neon64>(vuzp1q_f32(a, b));
}
inline Floats<xs::neon64> odd_elements(const Floats<xs::neon64>& a, const Floats<xs::neon64>& b) {
  return Floats<xs::neon64>(vuzp2q_f32(a, b));
}
inline std::int32_t largest_element(const Ints<xs::neon64>& x) { return vmaxvq_s32(x); }

}  // namespace
}  // namespace mla_prolog::kernels
