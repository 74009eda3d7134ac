// Rows to and from bf16, and the query's rope factor (numerics.md 6.4). One rounding per element; widening is exact.
#pragma once

#include "kernels/simd/encode.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
void scale_bf16(bf16_t* x, std::int64_t n, float factor) {
  const Floats<A> f(factor);
  for_each_step<kPair<A>>(n, [=](std::int64_t i, auto lanes) {
    const Pair<A> wide = load_pair<A>(x + i, lanes);
    store_bf16<A>(x + i, {wide.a * f, wide.b * f}, lanes);
  });
}

template <class A>
void round_to_bf16(const float* x, std::int64_t n, bf16_t* out) {
  for_each_step<kPair<A>>(
      n, [=](std::int64_t i, auto lanes) { store_bf16<A>(out + i, load_pair<A>(x + i, lanes), lanes); });
}

template <class A>
void widen_bf16(const bf16_t* x, std::int64_t n, float* out) {
  for_each_step<kWidth<A>>(n, [=](std::int64_t i, auto lanes) { store<A>(out + i, load<A>(x + i, lanes), lanes); });
}

}  // namespace
}  // namespace mla_prolog::kernels
