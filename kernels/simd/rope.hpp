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
  for (std::int64_t i = 0; i < kHalf; i += kPair<A>) {
    const Pair<A> first = load_pair<A>(x + 2 * i, kAll);
    const Pair<A> second = load_pair<A>(x + 2 * i + kPair<A>, kAll);
    const Pair<A> even{even_elements(first.a, first.b), even_elements(second.a, second.b)};
    const Pair<A> odd{odd_elements(first.a, first.b), odd_elements(second.a, second.b)};
    const Pair<A> cos_low = load_pair<A>(cos + i, kAll);
    const Pair<A> sin_low = load_pair<A>(sin + i, kAll);
    const Pair<A> cos_high = load_pair<A>(cos + kHalf + i, kAll);
    const Pair<A> sin_high = load_pair<A>(sin + kHalf + i, kAll);
    store_bf16<A>(out + i, {cos_low.a * even.a - sin_low.a * odd.a, cos_low.b * even.b - sin_low.b * odd.b}, kAll);
    store_bf16<A>(out + kHalf + i, {cos_high.a * odd.a + sin_high.a * even.a, cos_high.b * odd.b + sin_high.b * even.b},
                  kAll);
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
