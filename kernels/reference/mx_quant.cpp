// MX quantisation (numerics.md 5.3): 32 bf16 values share the exponent floor(log2 amax) - 8, read off the largest raw
// exponent field; E4M3 codes of the values scaled by that power of two.
//
// Scaling is exact in float32. The scaled maximum lies in [256, 512) and is clamped to 448 before conversion.
#include <algorithm>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/e8m0.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {
namespace {

constexpr std::int64_t kBlock = 32;
constexpr int kE4m3MaxExponent = 8;

void quantize_block(const bf16_t* block, std::uint8_t* codes, std::uint8_t* scale) {
  int exponent = 0;  // the largest biased exponent field
  for (std::int64_t i = 0; i < kBlock; ++i) exponent = std::max(exponent, (block[i] >> 7) & 0xFF);
  if (exponent == 0xFF) {  // an Inf or NaN poisons its block: every element is NaN, and NaN converts to code 0
    *scale = kE8m0Nan;
    std::fill_n(codes, kBlock, std::uint8_t{0});
    return;
  }
  const int shared = std::max(exponent, kE4m3MaxExponent) - kE4m3MaxExponent;
  const float multiplier = exponent == 0 ? 0.0F : std::ldexp(1.0F, 127 - shared);
  for (std::int64_t i = 0; i < kBlock; ++i) {
    const float scaled = float_from_bf16(block[i]) * multiplier;
    codes[i] = e4m3_from_float(std::clamp(scaled, -448.0F, 448.0F));
  }
  *scale = static_cast<std::uint8_t>(shared);
}

}  // namespace

void mx_quant_bf16(const bf16_t* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales) {
  for (std::int64_t i = 0; i < n; i += kBlock) quantize_block(y + i, codes + i, scales + i / kBlock);
}

void mx_quant(const float* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales) {
  for (std::int64_t i = 0; i < n; i += kBlock) {
    bf16_t block[kBlock];
    for (std::int64_t j = 0; j < kBlock; ++j) block[j] = bf16_from_float_ties_away(y[i + j]);
    quantize_block(block, codes + i, scales + i / kBlock);
  }
}

}  // namespace mla_prolog::kernels::reference
