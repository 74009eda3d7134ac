// One scaled value to its 8-bit code, by kind.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/hif8.hpp"
#include "kernels/formats/int8.hpp"
#include "kernels/row_kernels.hpp"

namespace mla_prolog::kernels::reference {

inline constexpr float kInt8Max = 127.0F;
inline constexpr float kE4m3Max = 448.0F;
inline constexpr float kHif8Max = 32768.0F;

// The largest value of the kind's code.
inline float largest_value(QuantKind kind) {
  switch (kind) {
    case QuantKind::e4m3:
      return kE4m3Max;
    case QuantKind::hif8:
      return kHif8Max;
    default:
      return kInt8Max;
  }
}

// fp32(1/MAX), the constant the 950 kernels multiply by.
inline float reciprocal_max(QuantKind kind) { return 1.0F / largest_value(kind); }

inline std::uint8_t encode(QuantKind kind, float v) {
  switch (kind) {
    case QuantKind::e4m3:
      return e4m3_from_float(v);
    case QuantKind::hif8:
      return hif8_from_float(v);
    case QuantKind::int8_a2_query:
      return std::bit_cast<std::uint8_t>(int8_from_float_via_fp16(v));
    default:
      return std::bit_cast<std::uint8_t>(int8_from_float(v));
  }
}

}  // namespace mla_prolog::kernels::reference
