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
inline Floats<A> load_bf16(const bf16_t* p, AllLanes) {
  return float_from_bits<A>(widen_u16(p, A{}) << 16);
}
template <class A>
inline Floats<A> load_bf16(const bf16_t* p, FirstLanes lanes) {
  bf16_t buffer[kWidth<A>] = {};
  copy_elements(p, lanes.count, buffer);
  return load_bf16<A>(buffer, AllLanes{});
}

// Two vectors: the unit in which 16-bit codes are written.
template <class A>
struct Pair {
  Floats<A> a, b;
};
template <class A>
inline constexpr std::int64_t kPair = 2 * kWidth<A>;

template <class A>
inline Pair<A> load_pair(const float* p, AllLanes lanes) {
  return {load<A>(p, lanes), load<A>(p + kWidth<A>, lanes)};
}
template <class A>
inline Pair<A> load_pair(const bf16_t* p, AllLanes lanes) {
  return {load_bf16<A>(p, lanes), load_bf16<A>(p + kWidth<A>, lanes)};
}
template <class A, class T>
inline Pair<A> load_pair(const T* p, FirstLanes lanes) {
  T buffer[kPair<A>] = {};
  copy_elements(p, lanes.count, buffer);
  return load_pair<A>(buffer, AllLanes{});
}

// Four vectors: the unit in which 8-bit codes are written, for four vectors of lanes make one of bytes.
template <class A>
struct Quad {
  Floats<A> a, b, c, d;
};
template <class A>
inline constexpr std::int64_t kQuad = 4 * kWidth<A>;

template <class A>
inline Quad<A> load_quad(const float* p, AllLanes lanes) {
  return {load<A>(p, lanes), load<A>(p + kWidth<A>, lanes), load<A>(p + 2 * kWidth<A>, lanes),
          load<A>(p + 3 * kWidth<A>, lanes)};
}
template <class A>
inline Quad<A> load_quad(const bf16_t* p, AllLanes lanes) {
  return {load_bf16<A>(p, lanes), load_bf16<A>(p + kWidth<A>, lanes), load_bf16<A>(p + 2 * kWidth<A>, lanes),
          load_bf16<A>(p + 3 * kWidth<A>, lanes)};
}
template <class A, class T>
inline Quad<A> load_quad(const T* p, FirstLanes lanes) {
  T buffer[kQuad<A>] = {};
  copy_elements(p, lanes.count, buffer);
  return load_quad<A>(buffer, AllLanes{});
}
template <class A, class F>
inline Quad<A> map(const Quad<A>& x, F f) {
  return {f(x.a), f(x.b), f(x.c), f(x.d)};
}
template <class A>
inline Quad<A> operator*(const Quad<A>& x, const Quad<A>& y) {
  return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d};
}

// encode(vector) gives lanes whose low byte is the code.
template <class A, class Encode>
inline void store_quad(std::uint8_t* p, const Quad<A>& x, Encode encode, AllLanes) {
  store_u8(p, encode(x.a), encode(x.b), encode(x.c), encode(x.d));
}
template <class A, class Encode>
inline void store_quad(std::uint8_t* p, const Quad<A>& x, Encode encode, FirstLanes lanes) {
  std::uint8_t buffer[kQuad<A>];
  store_quad(buffer, x, encode, AllLanes{});
  copy_elements(buffer, lanes.count, p);
}

}  // namespace
}  // namespace mla_prolog::kernels
