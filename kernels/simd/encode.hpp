// float32 to bf16 and to 8-bit codes, several vectors at a time; kernels/formats has each conversion in scalar form.
//
// `Bounded` encoders leave out what only NaN and values beyond the format's largest need: the caller promises
// |v| <= largest * (1 + 2^-22).
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
  high_halves(encode_bf16(x.a), encode_bf16(x.b)).store_unaligned(reinterpret_cast<std::int16_t*>(p));
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

template <class A>
inline Floats<A> clamp_to_int8(const Floats<A>& v) {
  return xs::min(xs::max(zero_where_nan(v, v), Floats<A>(-128.0F)), Floats<A>(127.0F));
}

// I8a, I8c: nearest, ties to even.
template <bool Bounded, class A>
inline Ints<A> encode_int8(Floats<A> v) {
  if constexpr (!Bounded) v = clamp_to_int8(v);
  return xs::nearbyint_as_int(v);
}

// I8b: to binary16 and from there to an integer, both with ties away from zero.
//
// Adding half a unit of binary16 leaves the rounded value in the upper bits; what lies below it is less than a unit,
// and forcing that above zero turns the ties of the second rounding into values just beyond them, where the nearest
// integer is the outer one. Magnitudes below 2^-14, where binary16 has fewer bits, become 0 all the same.
template <bool Bounded, class A>
inline Ints<A> encode_int8_via_fp16(Floats<A> v) {
  if constexpr (!Bounded) v = clamp_to_int8(v);
  const Ints<A> half_unit(0x1000);
  return xs::nearbyint_as_int(float_from_bits((bits_of(v) + half_unit) | half_unit));
}

// F8: nearest, ties to even.
template <bool Bounded, class A>
inline Ints<A> encode_e4m3(const Floats<A>& v) {
  using I = Ints<A>;
  const I bits = bits_of(v);
  I a = bits & I(0x7FFFFFFF);
  if constexpr (!Bounded) a = xs::min(a, I(0x43E00000));  // 448
  // Exponents are biased by 127 here and by 7 there.
  const I rebased = a + I(0x7FFFF - (120 << 23));
  const I normal = shift_right_logical<20>(rebased + (shift_right_logical<20>(a) & I(1)));
  // Below 2^-6 codes count multiples of 2^-9, the unit in the last place of 2^14.
  const Floats<A> shifted = float_from_bits(a) + Floats<A>(16384.0F);
  const I subnormal = bits_of(shifted) - I(0x46800000);
  const I code = xs::select(a < I(0x3C800000), subnormal, normal) | (shift_right_logical<24>(bits) & I(0x80));
  if constexpr (Bounded) return code;
  return zero_where_nan(v, code);
}

// H8 of the upper halves of float32 values, which are all that it depends on: nearest at the precision of the value's
// own exponent, ties away from zero, with three fraction bits or fewer. No NaN.
template <bool Bounded, class A>
inline Shorts<A> encode_hif8(const Shorts<A>& bits) {
  using S = Shorts<A>;
  S a = bits & S(0x7FFF);
  if constexpr (!Bounded) a = xs::min(a, S(0x4700));  // 32768
  // 3, 2, 1 or 0 fraction bits for an exponent of magnitude below 4, 8, 16, or more (only powers of two). Half a unit,
  // added, carries into the exponent exactly when the value rounds up to the next power of two.
  const S size = xs::abs((a >> 7) - S(127));
  const S half_unit = xs::select(size < S(8), xs::select(size < S(4), S(1 << 3), S(1 << 4)),
                                 xs::select(size < S(16), S(1 << 5), S(1 << 6)));
  const S rounded = a + half_unit;
  const S exponent = (rounded >> 7) - S(127);
  const S magnitude = xs::abs(exponent);
  const S wide = (magnitude << 3) | ((rounded >> 4) & S(7));
  // Prefix, magnitude less its implicit one, and fraction of each row of the format's table are sums of one constant
  // and the joined fields; below 2^-15 the body counts exponents from -23, which is itself coded as 1.
  const S upper = xs::select(magnitude < S(8), (wide >> 1) + S(0x30), (wide >> 2) + S(0x50));
  const S lower = xs::select(magnitude < S(2), wide + S(0x08), wide + S(0x10));
  const S sign_of_exponent = (exponent >> 15) & xs::select(magnitude < S(2), S(0x08), S(0x10));
  const S normal = xs::select(magnitude < S(4), lower, upper) + sign_of_exponent;
  const S power = xs::max(exponent + S(23), S(1));
  const S code = xs::select(magnitude < S(16), normal, power) | ((bits >> 8) & S(0x80));
  return xs::select(a < S(0x3400), S(0), code);  // below 2^-23, without sign
}

template <bool Bounded, class A>
inline Shorts<A> encode_hif8(const Floats<A>& a, const Floats<A>& b) {
  if constexpr (Bounded) return encode_hif8<true>(high_halves(bits_of(a), bits_of(b)));
  return encode_hif8<false>(high_halves(bits_of(zero_where_nan(a, a)), bits_of(zero_where_nan(b, b))));
}

template <QuantKind Kind, bool Bounded, class A>
inline void store_codes(std::uint8_t* p, const Quad<A>& x, AllLanes) {
  if constexpr (Kind == QuantKind::hif8) {
    store_u8(p, encode_hif8<Bounded>(x.a, x.b), encode_hif8<Bounded>(x.c, x.d));
  } else if constexpr (Kind == QuantKind::e4m3) {
    store_u8(p, encode_e4m3<Bounded>(x.a), encode_e4m3<Bounded>(x.b), encode_e4m3<Bounded>(x.c),
             encode_e4m3<Bounded>(x.d));
  } else if constexpr (Kind == QuantKind::int8_a2_query) {
    store_s8(p, encode_int8_via_fp16<Bounded>(x.a), encode_int8_via_fp16<Bounded>(x.b),
             encode_int8_via_fp16<Bounded>(x.c), encode_int8_via_fp16<Bounded>(x.d));
  } else {
    store_s8(p, encode_int8<Bounded>(x.a), encode_int8<Bounded>(x.b), encode_int8<Bounded>(x.c),
             encode_int8<Bounded>(x.d));
  }
}
template <QuantKind Kind, bool Bounded, class A>
inline void store_codes(std::uint8_t* p, const Quad<A>& x, FirstLanes lanes) {
  std::uint8_t buffer[kQuad<A>];
  store_codes<Kind, Bounded>(buffer, x, AllLanes{});
  copy_elements(buffer, lanes.count, p);
}

}  // namespace
}  // namespace mla_prolog::kernels
