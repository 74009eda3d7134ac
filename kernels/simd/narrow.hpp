// Loads and stores of 16-bit and 8-bit codes, for full and partial vectors.
#pragma once

#if defined(__x86_64__)
#include "kernels/simd/x86.hpp"
#elif defined(__aarch64__)
#include "kernels/simd/neon.hpp"
#else
#error "no kernel set for this architecture"
#endif

namespace mla_prolog::kernels {
namespace {

// bf16 to float32, exact.
template <class A>
inline Floats<A> load(const bf16_t* p, auto lanes) {
  bf16_t buffer[kWidth<A>];
  return float_from_bits<A>(widen_u16(elements<kWidth<A>>(p, buffer, lanes), A{}) << 16);
}

// Two vectors: the unit in which 16-bit codes are written.
template <class A>
struct Pair {
  Floats<A> a, b;
};
template <class A>
inline constexpr std::int64_t kPair = 2 * kWidth<A>;

// T is float, or bf16 to be widened.
template <class A, class T>
inline Pair<A> load_pair(const T* p, auto lanes) {
  T buffer[kPair<A>];
  const T* row = elements<kPair<A>>(p, buffer, lanes);
  return {load<A>(row, AllLanes{}), load<A>(row + kWidth<A>, AllLanes{})};
}

// Four vectors: the unit in which 8-bit codes are written, for four vectors of lanes make one of bytes.
template <class A>
struct Quad {
  Floats<A> a, b, c, d;
};
template <class A>
inline constexpr std::int64_t kQuad = 4 * kWidth<A>;

template <class A, class T>
inline Quad<A> load_quad(const T* p, auto lanes) {
  T buffer[kQuad<A>];
  const T* row = elements<kQuad<A>>(p, buffer, lanes);
  return {load<A>(row, AllLanes{}), load<A>(row + kWidth<A>, AllLanes{}), load<A>(row + 2 * kWidth<A>, AllLanes{}),
          load<A>(row + 3 * kWidth<A>, AllLanes{})};
}
template <class A, class F>
inline Quad<A> map(const Quad<A>& x, F f) {
  return {f(x.a), f(x.b), f(x.c), f(x.d)};
}
template <class A>
inline Quad<A> operator*(const Quad<A>& x, const Quad<A>& y) {
  return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d};
}

}  // namespace
}  // namespace mla_prolog::kernels
