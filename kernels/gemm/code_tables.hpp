// E4M3 and HiFloat8 codes as bf16 patterns: every value of both formats is exact in bf16.
#pragma once

#include <cstdint>

namespace mla_prolog::kernels {
namespace {

// A plain array: units of one instruction set call no function of the standard library.
struct Bf16Table {
  std::uint16_t pattern[256];
};

constexpr std::uint16_t kBf16Nan = 0x7FC0;

// +-2^exponent * (1 + fraction / 8).
constexpr std::uint16_t bf16_pattern(bool negative, int exponent, int fraction) {
  return static_cast<std::uint16_t>((negative ? 0x8000 : 0) | ((exponent + 127) << 7) | (fraction << 4));
}

constexpr Bf16Table make_e4m3_table() {
  Bf16Table table{};
  for (int code = 0; code < 256; ++code) {
    const bool negative = (code & 0x80) != 0;
    const int exponent = (code >> 3) & 0xF;
    int fraction = code & 7;
    std::uint16_t value = 0;
    if ((code & 0x7F) == 0x7F) {
      value = kBf16Nan;
    } else if (exponent != 0) {
      value = bf16_pattern(negative, exponent - 7, fraction);
    } else if (fraction == 0) {
      value = negative ? 0x8000 : 0;
    } else {  // fraction * 2^-9, normalised
      int e = -6;
      while ((fraction & 8) == 0) {
        fraction <<= 1;
        --e;
      }
      value = bf16_pattern(negative, e, fraction & 7);
    }
    table.pattern[code] = value;
  }
  return table;
}

constexpr Bf16Table make_hif8_table() {
  Bf16Table table{};
  for (int code = 0; code < 256; ++code) {
    const bool negative = (code & 0x80) != 0;
    const int body = code & 0x7F;
    std::uint16_t value = 0;
    if (code == 0x80) {
      value = kBf16Nan;
    } else if (body == 0x6F) {
      value = static_cast<std::uint16_t>(negative ? 0xFF80 : 0x7F80);
    } else if (body >= 0x60) {
      const int e = 8 + ((body >> 1) & 7);
      value = bf16_pattern(negative, (body & 0x10) != 0 ? -e : e, (body & 1) << 2);
    } else if (body >= 0x40) {
      const int e = 4 + ((body >> 2) & 3);
      value = bf16_pattern(negative, (body & 0x10) != 0 ? -e : e, (body & 3) << 1);
    } else if (body >= 0x20) {
      const int e = 2 + ((body >> 3) & 1);
      value = bf16_pattern(negative, (body & 0x10) != 0 ? -e : e, body & 7);
    } else if (body >= 0x10) {
      value = bf16_pattern(negative, (body & 8) != 0 ? -1 : 1, body & 7);
    } else if (body >= 0x08) {
      value = bf16_pattern(negative, 0, body & 7);
    } else if (body != 0) {
      value = bf16_pattern(negative, body - 23, 0);
    }
    table.pattern[code] = value;
  }
  return table;
}

alignas(64) constexpr Bf16Table kE4m3ToBf16 = make_e4m3_table();
alignas(64) constexpr Bf16Table kHif8ToBf16 = make_hif8_table();

}  // namespace
}  // namespace mla_prolog::kernels
