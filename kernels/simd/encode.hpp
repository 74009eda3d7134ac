// float32 to bf16 and to 8-bit codes, a vector at a time; kernels/formats has each conversion in scalar form.
//
// The 8-bit encoders leave the code in the low byte of each lane; the other bits are arbitrary. `Bounded` leaves out
// what only NaN and values beyond the format's largest need: the caller promises |v| <= largest * (1 + 2^-22).
#pragma once

#include "kernels/row_kernels.hpp"
#include "kernels/simd/narrow.hpp"

namespace mla_prolog::kernels {
namespace {

// BF: nearest, ties to even; NaN gives the quiet NaN. The code is the upper half of a lane, the lower is arbitrary.
template <class A>
inline Ints<A> encode_bf16(const Floats<A>& v) {
  using I = Ints<A>;
  const I bits = bits_of(v);
  const I rounded = bits + (I(0x7FFF) + (shift_right_logical<16>(bits) & I(1)));
  const Floats<A> quiet = float_from_bits(I(0x7FC00000));
  return bits_of(xs::select(v == v, float_from_bits(rounded), quiet));
}

template <class A>
inline void store_bf16(bf16_t* p, const Pair<A>& x, AllLanes) {
  store_high16(p, encode_bf16(x.a), encode_bf16(x.b));
}
template <class A>
inline void store_bf16(bf16_t* p, const Pair<A>& x, FirstLanes lanes) {
  bf16_t buffer[kPair<A>];
  store_bf16(buffer, x, AllLanes{});
  copy_elements(buffer, lanes.count, p);
}

// BFA widened again: nearest bf16, ties away from zero, as a float32.
template <class A>
inline Floats<A> round_to_bf16_ties_away(const Floats<A>& v) {
  using I = Ints<A>;
  const I rounded = (bits_of(v) + I(0x8000)) & I(static_cast<std::int32_t>(0xFFFF0000));
  const Floats<A> quiet = float_from_bits(I(0x7FC00000));
  return xs::select(v == v, float_from_bits(rounded), quiet);
}

// I8a, I8c: nearest, ties to even. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
template <bool Bounded, class A>
inline Ints<A> encode_int8(Floats<A> v) {
  using F = Floats<A>;
  if constexpr (!Bounded) v = xs::min(xs::max(zero_where_nan(v, v), F(-128.0F)), F(127.0F));
  return bits_of(v + F(12582912.0F));
}

// I8b: to binary16 and from there to an integer, both with ties away from zero. Magnitudes below 2^-14, where binary16
// loses precision, give 0 by either precision.
template <bool Bounded, class A>
inline Ints<A> encode_int8_via_fp16(Floats<A> v) {
  using F = Floats<A>;
  using I = Ints<A>;
  if constexpr (!Bounded) v = xs::min(xs::max(zero_where_nan(v, v), F(-128.0F)), F(127.0F));
  const I half = (bits_of(v) + I(0x1000)) & I(~0x1FFF);
  const I signed_one_half = (half & I(static_cast<std::int32_t>(0x80000000))) | I(0x3F000000);
  return xs::to_int(float_from_bits(half) + float_from_bits(signed_one_half));
}

// F8: nearest, ties to even.
template <bool Bounded, class A>
inline Ints<A> encode_e4m3(const Floats<A>& v) {
  using F = Floats<A>;
  using I = Ints<A>;
  const I bits = bits_of(v);
  I a = bits & I(0x7FFFFFFF);
  if constexpr (!Bounded) a = xs::min(a, I(0x43E00000));  // 448
  const I normal = shift_right_logical<20>(a + (I(0x7FFFF) + (shift_right_logical<20>(a) & I(1)))) - I((127 - 7) << 3);
  // Below 2^-6 codes count multiples of 2^-9, the unit in the last place of 2^14.
  const F shifted = float_from_bits(a) + F(16384.0F);
  const I subnormal = bits_of(shifted) - I(0x46800000);
  const I code = xs::select(a < I(0x3C800000), subnormal, normal) | (shift_right_logical<24>(bits) & I(0x80));
  if constexpr (Bounded) return code;
  return zero_where_nan(v, code);
}

// H8: nearest at the precision of the value's own exponent, ties away from zero.
template <bool Bounded, class A>
inline Ints<A> encode_hif8(const Floats<A>& v) {
  using I = Ints<A>;
  const I bits = bits_of(v);
  I a = bits & I(0x7FFFFFFF);
  if constexpr (!Bounded) a = xs::min(a, I(0x47000000));  // 32768
  // 3, 2, 1 or 0 fraction bits for an exponent of magnitude below 4, 8, 16, or more (only powers of two). Half a unit,
  // added, carries into the exponent exactly when the value rounds up to the next power of two.
  const I size = xs::abs((a >> 23) - I(127));
  const I half_unit = xs::select(size < I(8), xs::select(size < I(4), I(1 << 19), I(1 << 20)),
                                 xs::select(size < I(16), I(1 << 21), I(1 << 22)));
  const I rounded = a + half_unit;
  const I exponent = (rounded >> 23) - I(127);
  const I magnitude = xs::abs(exponent);
  const I wide = (magnitude << 3) | ((rounded >> 20) & I(7));
  // Prefix, magnitude less its implicit one, and fraction of each row of the format's table are sums of one constant
  // and the joined fields; below 2^-15 the body counts exponents from -23, which is itself coded as 1.
  const I upper = xs::select(magnitude < I(8), (wide >> 1) + I(0x30), (wide >> 2) + I(0x50));
  const I lower = xs::select(magnitude < I(2), wide + I(0x08), wide + I(0x10));
  const I sign_of_exponent = (exponent >> 31) & xs::select(magnitude < I(2), I(0x08), I(0x10));
  const I normal = xs::select(magnitude < I(4), lower, upper) + sign_of_exponent;
  const I power = xs::max(exponent + I(23), I(1));
  const I code = xs::select(magnitude < I(16), normal, power) | (shift_right_logical<24>(bits) & I(0x80));
  const I nonzero = xs::select(a < I(0x34000000), I(0), code);  // below 2^-23, without sign
  if constexpr (Bounded) return nonzero;
  return zero_where_nan(v, nonzero);
}

template <QuantKind Kind, bool Bounded, class A>
inline Ints<A> encode(const Floats<A>& v) {
  if constexpr (Kind == QuantKind::e4m3) {
    return encode_e4m3<Bounded>(v);
  } else if constexpr (Kind == QuantKind::hif8) {
    return encode_hif8<Bounded>(v);
  } else if constexpr (Kind == QuantKind::int8_a2_query) {
    return encode_int8_via_fp16<Bounded>(v);
  } else {
    return encode_int8<Bounded>(v);
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
