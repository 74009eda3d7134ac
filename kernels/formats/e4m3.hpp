// FP8 E4M3FN: 1 sign, 4 exponent (bias 7), 3 fraction bits; no infinity, NaN 0x7F and 0xFF, largest value 448.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mla_prolog::kernels {

inline float float_from_e4m3(std::uint8_t code) noexcept {
  const int exponent = (code >> 3) & 0xF;
  const int fraction = code & 0x7;
  float magnitude = 0;
  if ((code & 0x7F) == 0x7F) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -9);
  } else {
    magnitude = std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  }
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// F8: nearest, ties to even; saturates to +-448 (infinity too); NaN gives 0x00; zeros keep their sign.
inline std::uint8_t e4m3_from_float(float v) noexcept {
  if (v != v) return 0x00;
  const std::uint8_t sign = std::signbit(v) ? 0x80 : 0x00;
  const float a = std::fabs(v);
  if (a >= 448.0F) return sign | 0x7E;
  if (a < 0x1p-6F)
    return sign | static_cast<std::uint8_t>(std::nearbyint(a * 0x1p9F));  // subnormals: multiples of 2^-9
  std::uint32_t bits = std::bit_cast<std::uint32_t>(a);
  bits += 0x7FFFF + ((bits >> 20) & 1);
  return sign | static_cast<std::uint8_t>((bits >> 20) - ((127U - 7U) << 3));
}

}  // namespace mla_prolog::kernels
