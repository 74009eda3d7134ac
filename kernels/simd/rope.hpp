// RoPE (numerics.md 7) of one 64-vector: interleaved input pairs, half-split output; two rounded products and one
// rounded sum, no fma. Subtracting the product is adding that of the negated sine, signed zeros included.
#pragma once

#include "kernels/simd/encode.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
void rope(const float* x, const bf16_t* sin, const bf16_t* cos, bf16_t* out) {
  constexpr std::int64_t kHalf = 32;
  constexpr AllLanes kAll;
  for (std::int64_t i = 0; i < kHalf; i += kWidth<A>) {
    const Floats<A> first = load<A>(x + 2 * i, kAll);
    const Floats<A> second = load<A>(x + 2 * i + kWidth<A>, kAll);
    const Floats<A> a = even_elements(first, second);
    const Floats<A> b = odd_elements(first, second);
    const Floats<A> low = load_bf16<A>(cos + i, kAll) * a - load_bf16<A>(sin + i, kAll) * b;
    const Floats<A> high = load_bf16<A>(cos + kHalf + i, kAll) * b + load_bf16<A>(sin + kHalf + i, kAll) * a;
    store_codes16<A>(out + i, encode_bf16(low), kAll);
    store_codes16<A>(out + kHalf + i, encode_bf16(high), kAll);
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
