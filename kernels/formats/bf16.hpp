// bfloat16: 1 sign, 8 exponent, 7 fraction bits; the upper half of a float32.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/formats/codes.hpp"

namespace mla_prolog::kernels {

inline constexpr bf16_t kBf16QuietNan = 0x7FC0;
inline constexpr std::uint32_t kFloat32QuietNan = 0x7FC00000;

inline float float_from_bf16(bf16_t code) noexcept { return std::bit_cast<float>(std::uint32_t{code} << 16); }

// BF: nearest, ties to even. Overflow gives infinity; every NaN becomes the quiet NaN.
inline bf16_t bf16_from_float(float v) noexcept {
  if (v != v) return kBf16QuietNan;
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<bf16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// BFA: nearest, ties away from zero.
inline bf16_t bf16_from_float_ties_away(float v) noexcept {
  if (v != v) return kBf16QuietNan;
  return static_cast<bf16_t>((std::bit_cast<std::uint32_t>(v) + 0x8000) >> 16);
}

// A float32 as outputs store it: any NaN becomes the quiet NaN.
inline float canonical(float v) noexcept { return v != v ? std::bit_cast<float>(kFloat32QuietNan) : v; }

}  // namespace mla_prolog::kernels
