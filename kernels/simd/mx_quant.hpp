// MX quantisation of BFA(y) (numerics.md 5.3): blocks of 32 share the exponent floor(log2 amax) - 8, read off the
// largest raw exponent field; E4M3 codes of the values scaled by that power of two, which is exact.
#pragma once

#include "kernels/simd/encode.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
void mx_quant(const float* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kVectors = kBlock / kWidth<A>;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    Floats<A> values[std::size_t{kVectors}];
    Ints<A> magnitude(0);
    for (std::int64_t k = 0; k < kVectors; ++k) {
      values[k] = round_to_bf16_ties_away(load<A>(y + i + k * kWidth<A>, AllLanes{}));
      magnitude = xs::max(magnitude, magnitude_bits(values[k]));
    }
    const std::int32_t exponent = largest_element(magnitude) >> 23;
    // The factor's exponent field is 254 - shared; a block of zeros and subnormals is multiplied by 0, and one with an
    // infinity or NaN by NaN, which the conversion turns into code 0.
    const std::int32_t shared = exponent > 8 ? exponent - 8 : 0;
    std::int32_t factor_bits = (254 - shared) << 23;
    if (exponent == 0) factor_bits = 0;
    if (exponent == 0xFF) factor_bits = 0x7FC00000;
    scales[i / kBlock] = static_cast<std::uint8_t>(exponent == 0xFF ? 0xFF : shared);
    const Floats<A> factor = float_from_bits(Ints<A>(factor_bits));
    for (std::int64_t k = 0; k < kVectors; ++k) {
      store_u8(codes + i + k * kWidth<A>, encode_e4m3<false>(values[k] * factor));
    }
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
