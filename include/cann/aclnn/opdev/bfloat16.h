/* A host-side bfloat16 for programs that fill buffers with it (C++ only). */
#ifndef MLA_PROLOG_CANN_OPDEV_BFLOAT16_H
#define MLA_PROLOG_CANN_OPDEV_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace op {

class bfloat16 {
 public:
  bfloat16() = default;
  /* Rounds to nearest even; NaN stays NaN. */
  bfloat16(float value) {  // NOLINT(google-explicit-constructor)
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
      value_ = 0x7FC0;
      return;
    }
    value_ = static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }

  operator float() const {  // NOLINT(google-explicit-constructor)
    const std::uint32_t bits = static_cast<std::uint32_t>(value_) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  std::uint16_t value_ = 0;
};

}  // namespace op

#endif
