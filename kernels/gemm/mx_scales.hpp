// The E8M0 scales of the MX matmul: decoding, and what they do to the sum of a block of 32 k.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla_prolog::kernels {
namespace {

using Float = VectorSet::Float;

constexpr std::int64_t kMxBlockLength = 32;

// 2^(code - 127); 0xFF is NaN.
inline float scale_value(std::uint8_t code) {
  const std::uint32_t bits = code == 0xFF ? 0x7FC00000U : (code == 0 ? 0x00400000U : std::uint32_t{code} << 23);
  return __builtin_bit_cast(float, bits);
}

// A square of bytes, its rows `stride` apart, to columns[byte of the row][row].
inline void transpose_square(const std::uint8_t* rows, std::ptrdiff_t stride, std::uint8_t (&columns)[16][16]) {
  using Row = std::uint8_t __attribute__((vector_size(16)));
  Row before[16];
  Row after[16];
  for (int i = 0; i < 16; ++i) __builtin_memcpy(&before[i], rows + i * stride, 16);
  // Four rounds of interleaving rows i and i + 8 bring byte j of row i to byte i of row j.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      after[2 * i] =
          __builtin_shufflevector(before[i], before[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      after[2 * i + 1] = __builtin_shufflevector(before[i], before[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; ++i) before[i] = after[i];
  }
  for (int i = 0; i < 16; ++i) __builtin_memcpy(columns[i], &before[i], 16);
}

// E8M0 bytes of `columns` columns as float32 [block][columns].
inline void expand_scales(const std::uint8_t* scales, std::ptrdiff_t stride, std::int64_t columns, std::int64_t blocks,
                          float* out) {
  constexpr std::int64_t kSquare = 16;
  const std::int64_t square_columns = columns / kSquare * kSquare;
  const std::int64_t square_blocks = blocks / kSquare * kSquare;
  for (std::int64_t j = 0; j < square_columns; j += kSquare) {
    for (std::int64_t b = 0; b < square_blocks; b += kSquare) {
      std::uint8_t codes[kSquare][kSquare];
      transpose_square(scales + j * stride + b, stride, codes);
      for (std::int64_t i = 0; i < kSquare; ++i) {
        for (std::int64_t c = 0; c < kSquare; ++c) out[(b + i) * columns + j + c] = scale_value(codes[i][c]);
      }
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t b = j < square_columns ? square_blocks : 0; b < blocks; ++b) {
      out[b * columns + j] = scale_value(scales[j * stride + b]);
    }
  }
}

// block * a * b with one rounding, for E8M0 values a and b and a sum of E4M3 products, which is a multiple of 2^-18 and
// below 2^23. The smaller factor never rounds (the product stays a multiple of 2^-145), and where it overflows the
// result does too; the factor a * b, which may lie outside float32, is never formed. NaN in either comes through.
inline Float mx_scale(Float block, Float a, Float b) {
  return VectorSet::mul(VectorSet::mul(block, VectorSet::min(a, b)), VectorSet::max(b, a));
}

// Lowest and highest of scales. None is negative, so their patterns are ordered as they are, and NaN is the highest.
struct ScaleRange {
  std::uint32_t low = 0x3F800000;
  std::uint32_t high = 0x3F800000;

  void add(const float* scales, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto pattern = __builtin_bit_cast(std::uint32_t, scales[i]);
      low = pattern < low ? pattern : low;
      high = pattern > high ? pattern : high;
    }
  }
};

// Whether a * b is a normal number and block * (a * b) exact for every pair of scales: then fma(block, a * b, chunk) is
// mx_scale and the addition after it. a * b at least 2^-126 and at most 2^104 suffices.
inline bool moderate_scales(const ScaleRange& a, const ScaleRange& b) {
  const auto product = [](std::uint32_t p, std::uint32_t q) {
    return __builtin_bit_cast(float, p) * __builtin_bit_cast(float, q);
  };
  return product(a.low, b.low) >= 0x1p-126F && product(a.high, b.high) <= 0x1p104F;
}

// The chunk's sum with one more block. `moderate`: what moderate_scales() says of the scales.
inline Float add_block(Float chunk, Float block, Float a, Float b, bool moderate) {
  return moderate ? VectorSet::fma(block, VectorSet::mul(a, b), chunk) : VectorSet::add(chunk, mx_scale(block, a, b));
}

}  // namespace
}  // namespace mla_prolog::kernels
