/* A host-side 8-bit float of 4 exponent and 3 fraction bits for programs that fill buffers with it (C++ only). */
#ifndef MLA_PROLOG_CANN_OPDEV_FLOAT8_E4M3FN_H
#define MLA_PROLOG_CANN_OPDEV_FLOAT8_E4M3FN_H

#include <cmath>
#include <cstdint>

namespace op {

struct Float8E4M3FN {
  struct FromBitsTag {};
  static constexpr FromBitsTag FromBits() { return FromBitsTag(); }

  constexpr Float8E4M3FN() : value(0) {}
  constexpr Float8E4M3FN(std::uint8_t bits, FromBitsTag /*tag*/) : value(bits) {}
  /* Rounds to nearest even; what is larger than 448, infinity too, becomes 448; NaN stays NaN. */
  Float8E4M3FN(float number) : value(encode(number)) {}  // NOLINT(google-explicit-constructor)

  operator float() const {  // NOLINT(google-explicit-constructor)
    const int exponent = (value >> 3) & 15;
    const int fraction = value & 7;
    float number = NAN;
    if (!IsNaN()) {
      number = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                             : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
    }
    return (value & 0x80) != 0 ? -number : number;
  }

  bool IsZero() const { return (value & 0x7F) == 0; }
  bool IsNaN() const { return (value & 0x7F) == 0x7F; }
  bool IsInf() const { return false; }

  std::uint8_t value;

 private:
  static std::uint8_t encode(float number) {
    if (number != number) return 0x7F;
    const int sign = std::signbit(number) ? 0x80 : 0;
    const float magnitude = std::fabs(number);
    if (magnitude >= 448.0f) return static_cast<std::uint8_t>(sign | 0x7E);
    if (magnitude == 0.0f) return static_cast<std::uint8_t>(sign);
    const int exponent = std::ilogb(magnitude) < -6 ? -6 : std::ilogb(magnitude);
    const float steps = std::ldexp(magnitude, 3 - exponent); /* of the last fraction bit, below 16 */
    int kept = static_cast<int>(steps);
    const float rest = steps - static_cast<float>(kept);
    if (rest > 0.5f || (rest == 0.5f && kept % 2 != 0)) ++kept;
    return static_cast<std::uint8_t>(sign | ((exponent + 6) * 8 + kept));
  }
};

}  // namespace op

#endif
