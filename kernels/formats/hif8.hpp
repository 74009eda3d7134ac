// HiFloat8: sign, a variable-length prefix that tells the exponent's width, a sign-magnitude exponent with an implicit
// leading one, and the fraction:
//
//   11 e sss m   |E| = 8..15, 1 fraction bit        001 e mmm   |E| = 1, 3 fraction bits
//   10 e ss mm   |E| = 4..7,  2 fraction bits       0001 mmm    E = 0,   3 fraction bits
//   01 e s mmm   |E| = 2..3,  3 fraction bits       0000 mmm    2^(mmm-23) for mmm != 0
//
// 0x00 is zero (there is no negative zero), 0x80 NaN, 0x6F and 0xEF infinities, 0x6E = 32768 the largest finite value.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace mla_prolog::kernels {

inline float float_from_hif8(std::uint8_t code) noexcept {
  if (code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const int body = code & 0x7F;
  if (body == 0) return 0.0F;
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  if (body == 0x6F) return sign * std::numeric_limits<float>::infinity();
  int magnitude = 0;  // |E|
  int negative = 0;
  int fraction = 0;
  int fraction_bits = 3;
  if (body >= 0x60) {
    negative = (body >> 4) & 1;
    magnitude = 8 + ((body >> 1) & 7);
    fraction = body & 1;
    fraction_bits = 1;
  } else if (body >= 0x40) {
    negative = (body >> 4) & 1;
    magnitude = 4 + ((body >> 2) & 3);
    fraction = body & 3;
    fraction_bits = 2;
  } else if (body >= 0x20) {
    negative = (body >> 4) & 1;
    magnitude = 2 + ((body >> 3) & 1);
    fraction = body & 7;
  } else if (body >= 0x10) {
    negative = (body >> 3) & 1;
    magnitude = 1;
    fraction = body & 7;
  } else if (body >= 0x08) {
    fraction = body & 7;
  } else {
    return sign * std::ldexp(1.0F, body - 23);
  }
  const int exponent = negative != 0 ? -magnitude : magnitude;
  return sign * std::ldexp(static_cast<float>((1 << fraction_bits) + fraction), exponent - fraction_bits);
}

// The 7-bit body of 2^exponent * (1 + fraction / 2^bits(exponent)), exponent in -15..15.
inline std::uint8_t hif8_body(int exponent, int fraction) noexcept {
  const int magnitude = std::abs(exponent);
  const int negative = exponent < 0 ? 1 : 0;
  int body = 0;
  if (magnitude >= 8) {
    body = 0x60 | (negative << 4) | ((magnitude - 8) << 1) | fraction;
  } else if (magnitude >= 4) {
    body = 0x40 | (negative << 4) | ((magnitude - 4) << 2) | fraction;
  } else if (magnitude >= 2) {
    body = 0x20 | (negative << 4) | ((magnitude - 2) << 3) | fraction;
  } else if (magnitude == 1) {
    body = 0x10 | (negative << 3) | fraction;
  } else {
    body = 0x08 | fraction;
  }
  return static_cast<std::uint8_t>(body);
}

// H8: nearest, ties away from zero at the precision of the value's own exponent; saturates to +-32768 (infinity too);
// NaN gives 0x00.
inline std::uint8_t hif8_from_float(float v) noexcept {
  constexpr std::uint8_t kLargest = 0x6E;
  if (v != v) return 0x00;
  const std::uint8_t sign = std::signbit(v) ? 0x80 : 0x00;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v) & 0x7FFFFFFF;
  int exponent = static_cast<int>(bits >> 23) - 127;
  const std::uint32_t fraction = bits & 0x7FFFFF;
  if (exponent > 15) return sign | kLargest;
  if (exponent < -23) return 0x00;
  if (exponent == -23) return sign | 0x01;
  if (exponent <= -16) {  // powers of two only
    if (fraction >= 0x400000) ++exponent;
    return exponent == -15 ? sign | hif8_body(-15, 0) : sign | static_cast<std::uint8_t>(exponent + 23);
  }
  const int magnitude = std::abs(exponent);
  const int fraction_bits = magnitude >= 8 ? 1 : (magnitude >= 4 ? 2 : 3);
  auto kept = static_cast<int>((fraction + (1U << (22 - fraction_bits))) >> (23 - fraction_bits));
  if (kept == (1 << fraction_bits)) {
    ++exponent;
    kept = 0;
  }
  if (exponent > 15 || (exponent == 15 && kept != 0)) return sign | kLargest;
  return sign | hif8_body(exponent, kept);
}

}  // namespace mla_prolog::kernels
