// IEEE binary16, for reading checkpoints and for the operator's intermediate int8 conversions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mla_prolog::kernels {

inline float float_from_fp16(std::uint16_t code) noexcept {
  const int exponent = (code >> 10) & 0x1F;
  const int fraction = code & 0x3FF;
  float magnitude = 0;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (code & 0x8000) != 0 ? -magnitude : magnitude;
}

// Nearest, ties to even; overflow gives infinity; NaN gives the quiet NaN 0x7E00.
inline std::uint16_t fp16_from_float(float v) noexcept {
  if (v != v) return 0x7E00;
  const auto bits = std::bit_cast<std::uint32_t>(v);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const float a = std::fabs(v);
  if (a >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00);  // half way past the largest finite value
  if (a < 0x1p-14F) {                                                   // subnormal: multiples of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(a * 0x1p24F)));
  }
  std::uint32_t magnitude = std::bit_cast<std::uint32_t>(a);
  magnitude += 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((magnitude >> 13) - ((127U - 15U) << 10)));
}

}  // namespace mla_prolog::kernels
