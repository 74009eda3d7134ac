// Dequantisation (numerics.md 2.3): two rounded products, the order by profile; int32 is first rounded to float32.
#pragma once

#include "kernels/simd/narrow.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
inline Floats<A> load_as_float(const float* p, auto lanes) {
  return load<A>(p, lanes);
}
template <class A>
inline Floats<A> load_as_float(const std::int32_t* p, auto lanes) {
  return xs::to_float(load<A>(p, lanes));
}

template <class A, class T>
void dequant(const T* m, std::int64_t n, float token_scale, const float* channel_scale, bool token_first, float* out) {
  const Floats<A> token(token_scale);
  if (token_first) {
    for_each_step<kWidth<A>>(n, [=](std::int64_t j, auto lanes) {
      store<A>(out + j, (load_as_float<A>(m + j, lanes) * token) * load<A>(channel_scale + j, lanes), lanes);
    });
  } else {
    for_each_step<kWidth<A>>(n, [=](std::int64_t j, auto lanes) {
      store<A>(out + j, (load_as_float<A>(m + j, lanes) * load<A>(channel_scale + j, lanes)) * token, lanes);
    });
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
