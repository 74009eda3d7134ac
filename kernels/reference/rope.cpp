// RoPE (numerics.md 7): interleaved input pairs, half-split output; two rounded products and one rounded sum, no fma.
#include "kernels/formats/bf16.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {

void rope(const float* x, const bf16_t* sin, const bf16_t* cos, bf16_t* out) {
  constexpr int kHalf = 32;
  for (int i = 0; i < kHalf; ++i) {
    const float even = x[2 * i];
    const float odd = x[2 * i + 1];
    const float first = float_from_bf16(cos[i]) * even + -float_from_bf16(sin[i]) * odd;
    const float second = float_from_bf16(cos[i + kHalf]) * odd + float_from_bf16(sin[i + kHalf]) * even;
    out[i] = bf16_from_float(first);
    out[i + kHalf] = bf16_from_float(second);
  }
}

}  // namespace mla_prolog::kernels::reference
