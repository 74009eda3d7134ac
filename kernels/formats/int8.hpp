// The conversions float32 -> int8 that the operator's kernels chain together, by their net effect.
#pragma once

#include <cmath>
#include <cstdint>

namespace mla_prolog::kernels {

// I8a and I8c: nearest, ties to even, saturating; NaN gives 0.
inline std::int8_t int8_from_float(float v) noexcept {
  if (v != v) return 0;
  if (v >= 127.0F) return 127;
  if (v <= -128.0F) return -128;
  return static_cast<std::int8_t>(std::nearbyint(v));
}

// I8b: first to binary16, then to an integer, both with ties away from zero; saturating; NaN gives 0.
inline std::int8_t int8_from_float_via_fp16(float v) noexcept {
  if (v != v) return 0;
  const double a = std::fabs(v);
  if (a >= 128.5) return v > 0 ? 127 : -128;
  const int exponent = a < 0x1p-14 ? -14 : std::ilogb(a);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double half = unit * std::floor(a / unit + 0.5);
  const double rounded = std::floor(half + 0.5);
  const double value = v > 0 ? rounded : -rounded;
  return static_cast<std::int8_t>(value > 127 ? 127 : (value < -128 ? -128 : value));
}

}  // namespace mla_prolog::kernels
