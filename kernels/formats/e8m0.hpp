// E8M0: an 8-bit power of two, 2^(code - 127); 0xFF is NaN. No zero, no sign.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace mla_prolog::kernels {

inline constexpr std::uint8_t kE8m0Nan = 0xFF;

inline float float_from_e8m0(std::uint8_t code) noexcept {
  return code == kE8m0Nan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, int{code} - 127);
}

// The nearest power of two (ties to the larger), saturating; NaN, zero and negative values give NaN.
inline std::uint8_t e8m0_from_float(float v) noexcept {
  if (!(v > 0)) return kE8m0Nan;
  if (std::isinf(v)) return 0xFE;
  int exponent = 0;
  const float fraction = std::frexp(v, &exponent);  // v = fraction * 2^exponent, fraction in [0.5, 1)
  const int code = exponent - 1 + (fraction >= 0.75F ? 1 : 0) + 127;
  return static_cast<std::uint8_t>(code < 0 ? 0 : (code > 0xFE ? 0xFE : code));
}

}  // namespace mla_prolog::kernels
