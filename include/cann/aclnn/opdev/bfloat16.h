/* A host-side bfloat16 for programs that fill buffers with it (C++ only). */
#ifndef MLA_PROLOG_CANN_OPDEV_BFLOAT16_H
#define MLA_PROLOG_CANN_OPDEV_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace op {

struct bfloat16 {
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return from_bits_t(); }

  constexpr bfloat16() : value(0) {}
  constexpr bfloat16(std::uint16_t bits, from_bits_t /*tag*/) : value(bits) {}
  /* Rounds to nearest even; NaN stays NaN. */
  bfloat16(float number) : value(encode(number)) {}  // NOLINT(google-explicit-constructor)

  operator float() const {  // NOLINT(google-explicit-constructor)
    const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }

  std::uint16_t value;

 private:
  static std::uint16_t encode(float number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC0;
    return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
};

}  // namespace op

#endif
