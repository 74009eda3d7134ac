// Vectors of float32 and their bit patterns, and loops over rows of any length.
//
// Everything in kernels/simd has internal linkage (anonymous namespaces): each instruction set's unit has its own copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats/codes.hpp"
#include "kernels/simd/xsimd.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
using Floats = xs::batch<float, A>;
// Bit patterns are signed: they order like the floats where the sign bit is clear, and SSE and AVX2 compare only
// signed.
template <class A>
using Ints = xs::batch<std::int32_t, A>;

// bf16 patterns, twice as many.
template <class A>
using Shorts = xs::batch<std::int16_t, A>;

template <class A>
inline constexpr std::int64_t kWidth = static_cast<std::int64_t>(Floats<A>::size);

// Not xsimd's bitwise_cast: its interface changed in version 11, and before that it went through a table of function
// pointers on NEON, which no compiler sees through.
template <class To, class T, class A>
inline xs::batch<To, A> reinterpret(const xs::batch<T, A>& x) {
  using From = typename xs::batch<T, A>::register_type;
  using Into = typename xs::batch<To, A>::register_type;
  return xs::batch<To, A>(__builtin_bit_cast(Into, static_cast<From>(x)));
}

template <class A>
inline Ints<A> bits_of(const Floats<A>& x) {
  return reinterpret<std::int32_t>(x);
}
template <class A>
inline Floats<A> float_from_bits(const Ints<A>& x) {
  return reinterpret<float>(x);
}
template <int Count, class A>
inline Ints<A> shift_right_logical(const Ints<A>& x) {
  return reinterpret<std::int32_t>(reinterpret<std::uint32_t>(x) >> Count);
}
template <class A>
inline Ints<A> magnitude_bits(const Floats<A>& x) {
  return bits_of(x) & Ints<A>(0x7FFFFFFF);
}
// NaN lanes of `test` take +0 instead of `x`.
template <class A>
inline Floats<A> zero_where_nan(const Floats<A>& test, const Floats<A>& x) {
  return xs::select(test == test, x, Floats<A>(0.0F));
}
template <class A>
inline Ints<A> zero_where_nan(const Floats<A>& test, const Ints<A>& x) {
  return bits_of(zero_where_nan(test, float_from_bits(x)));
}

// How many elements of a vector lie in the row: all, or the first `count`. Lanes past the end read as zero and are not
// written.
struct AllLanes {};
struct FirstLanes {
  std::int64_t count;
};

template <class T>
inline void copy_elements(const T* from, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}

// Step elements from p, in `buffer` and followed by zeros where the row ends before.
template <std::int64_t Step, class T>
inline const T* elements(const T* p, T*, AllLanes) {
  return p;
}
template <std::int64_t Step, class T>
inline const T* elements(const T* p, T* buffer, FirstLanes lanes) {
  for (std::int64_t i = 0; i < Step; ++i) buffer[i] = i < lanes.count ? p[i] : T{0};
  return buffer;
}

template <class A>
inline Floats<A> load(const float* p, auto lanes) {
  float buffer[kWidth<A>];
  return Floats<A>::load_unaligned(elements<kWidth<A>>(p, buffer, lanes));
}
template <class A>
inline Ints<A> load(const std::int32_t* p, auto lanes) {
  std::int32_t buffer[kWidth<A>];
  return Ints<A>::load_unaligned(elements<kWidth<A>>(p, buffer, lanes));
}
template <class A>
inline void store(float* p, const Floats<A>& x, AllLanes) {
  x.store_unaligned(p);
}
template <class A>
inline void store(float* p, const Floats<A>& x, FirstLanes lanes) {
  float buffer[kWidth<A>];
  x.store_unaligned(buffer);
  copy_elements(buffer, lanes.count, p);
}

// body(i, lanes) for i = 0, step, 2 * step, ...; the last call may have FirstLanes.
template <std::int64_t Step, class Body>
inline void for_each_step(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + Step <= n; i += Step) body(i, AllLanes{});
  if (i < n) body(i, FirstLanes{n - i});
}

}  // namespace
}  // namespace mla_prolog::kernels
