/* A host-side 8-bit power of two, the scale of MX formats, for programs that fill buffers with it (C++ only). */
#ifndef MLA_PROLOG_CANN_OPDEV_FLOAT8_E8M0_H
#define MLA_PROLOG_CANN_OPDEV_FLOAT8_E8M0_H

#include <cmath>
#include <cstdint>

namespace op {

struct Float8E8M0 {
  struct FromBitsTag {};
  static constexpr FromBitsTag FromBits() { return FromBitsTag(); }

  constexpr Float8E8M0() : value(0) {}
  constexpr Float8E8M0(std::uint8_t bits, FromBitsTag /*tag*/) : value(bits) {}
  /* The nearest power of two (of two, the larger), at most 2^127; negative numbers become NaN. Zero has the code 0,
   * which the operators read as 2^-127. */
  Float8E8M0(float number) : value(encode(number)) {}  // NOLINT(google-explicit-constructor)

  operator float() const {  // NOLINT(google-explicit-constructor)
    if (IsNaN()) return NAN;
    return IsZero() ? 0.0f : std::ldexp(1.0f, GetExponent());
  }

  bool IsZero() const { return value == 0; }
  bool IsNaN() const { return value == 0xFF; }
  bool IsInf() const { return false; }
  std::int32_t GetExponent() const { return IsZero() || IsNaN() ? 0 : value - 127; }

  std::uint8_t value;

 private:
  static std::uint8_t encode(float number) {
    if (number != number || number < 0.0f) return 0xFF;
    if (number == 0.0f) return 0;
    if (std::isinf(number)) return 0xFE;
    int exponent = 0;
    const float fraction = std::frexp(number, &exponent); /* 0.5 to 1 */
    const int code = exponent + (fraction >= 0.75f ? 127 : 126);
    return static_cast<std::uint8_t>(code < 0 ? 0 : code > 0xFE ? 0xFE : code);
  }
};

}  // namespace op

#endif
