// float32 operations from double arithmetic: one correctly rounded result each, computed another way than by the
// operation itself.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mla_prolog::test {

inline std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }

/// Equal to the bit.
inline bool same(float a, float b) { return bits_of(a) == bits_of(b); }

/// a * b: the product of two float32 values is exact in double.
inline float oracle_mul(float a, float b) { return static_cast<float>(double{a} * double{b}); }

/// a * b + c with one rounding. The exact sum is rounded to odd at 53 bits (Knuth's two-sum gives the error), which
/// makes the second rounding, to 24 bits, right.
inline float oracle_fma(float a, float b, float c) {
  const double product = double{a} * double{b};
  const double addend = c;
  double sum = product + addend;
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  const double addend_part = sum - product;
  const double error = (product - (sum - addend_part)) + (addend - addend_part);
  if (error != 0 && (std::bit_cast<std::uint64_t>(sum) & 1) == 0) {
    sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  }
  return static_cast<float>(sum);
}

/// a + b.
inline float oracle_add(float a, float b) { return oracle_fma(a, 1.0F, b); }

/// v * 2^exponent, one rounding. Exact in double for |exponent| < 800.
inline float oracle_scale(float v, int exponent) {
  double value = v;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return static_cast<float>(value);
}

/// a / b for normal results: a double quotient has enough bits that rounding it again is harmless.
inline float oracle_div(float a, float b) { return static_cast<float>(double{a} / double{b}); }
inline float oracle_sqrt(float v) { return static_cast<float>(std::sqrt(double{v})); }

}  // namespace mla_prolog::test
