// Quantisation to 8-bit codes with one scale per row (numerics.md 5.2, 6), per tile (8.4), or given (8.2, 8.3).
//
// Row maxima are taken on the magnitudes' bit patterns, where every NaN is greater than every number, so they propagate
// NaN. Where a row's scale is an ordinary number no quotient is NaN or beyond the largest code, and the encoders skip
// what only those need.
#pragma once

#include "kernels/simd/encode.hpp"
#include "kernels/simd/mx_quant.hpp"

namespace mla_prolog::kernels {
namespace {

inline constexpr float kSmallestNormal = 0x1p-126F;
inline constexpr float kLargestFinite = 0x1.fffffep127F;

// fp32(1 / MAX) of the kind.
template <QuantKind Kind>
inline constexpr float kReciprocalMax = Kind == QuantKind::e4m3   ? 1.0F / 448.0F
                                        : Kind == QuantKind::hif8 ? 1.0F / 32768.0F
                                                                  : 1.0F / 127.0F;

inline float canonical(float v) { return v == v ? v : __builtin_nanf(""); }

// The operand of a row: y, or y * smooth.
template <class A>
struct PlainRow {
  const float* y;
  Quad<A> operator()(std::int64_t i, auto lanes) const { return load_quad<A>(y + i, lanes); }
};
template <class A>
struct SmoothRow {
  const float* y;
  const float* smooth;
  Quad<A> operator()(std::int64_t i, auto lanes) const {
    return load_quad<A>(y + i, lanes) * load_quad<A>(smooth + i, lanes);
  }
};

template <class A>
struct Bf16Row {
  const bf16_t* y;
  Quad<A> operator()(std::int64_t i, auto lanes) const { return load_quad<A>(y + i, lanes); }
};

template <class A, class Row>
inline float absolute_maximum(const Row& row, std::int64_t n) {
  Ints<A> a(0);
  Ints<A> b(0);
  Ints<A> c(0);
  Ints<A> d(0);
  for_each_step<kQuad<A>>(n, [&](std::int64_t i, auto lanes) {
    const Quad<A> x = row(i, lanes);
    a = xs::max(a, magnitude_bits(x.a));
    b = xs::max(b, magnitude_bits(x.b));
    c = xs::max(c, magnitude_bits(x.c));
    d = xs::max(d, magnitude_bits(x.d));
  });
  const std::int32_t largest = largest_element(xs::max(xs::max(a, b), xs::max(c, d)));
  return __builtin_bit_cast(float, largest);
}

// bf16 magnitudes order like their patterns, too.
template <class A>
inline float absolute_maximum(const Bf16Row<A>& row, std::int64_t n) {
  const Shorts<A> magnitude(0x7FFF);
  Shorts<A> a(0);
  Shorts<A> b(0);
  for_each_step<kQuad<A>>(n, [&](std::int64_t i, auto lanes) {
    std::int16_t buffer[kQuad<A>];
    const auto* p = elements<kQuad<A>>(reinterpret_cast<const std::int16_t*>(row.y + i), buffer, lanes);
    a = xs::max(a, Shorts<A>::load_unaligned(p) & magnitude);
    b = xs::max(b, Shorts<A>::load_unaligned(p + kPair<A>) & magnitude);
  });
  // The larger of each two neighbours, as float32 patterns.
  const Ints<A> pairs = reinterpret<std::int32_t>(xs::max(a, b));
  const Ints<A> largest = xs::max(pairs << 16, pairs & Ints<A>(0x7FFF0000));
  return __builtin_bit_cast(float, largest_element(largest));
}

template <class A, QuantKind Kind, bool Bounded, bool Divide, class Row>
inline void encode_row(const Row& row, std::int64_t n, float operand, std::uint8_t* codes) {
  const Floats<A> by(operand);
  for_each_step<kQuad<A>>(n, [=](std::int64_t i, auto lanes) {
    const auto scaled = [=](const Floats<A>& x) {
      if constexpr (Divide) {
        return divide(x, by);
      } else {
        return x * by;
      }
    };
    store_codes<Kind, Bounded>(codes + i, map(row(i, lanes), scaled), lanes);
  });
}

template <class A, QuantKind Kind, bool Divide, class Row>
inline void encode_row(bool bounded, const Row& row, std::int64_t n, float operand, std::uint8_t* codes) {
  if (bounded) {
    encode_row<A, Kind, true, Divide>(row, n, operand, codes);
  } else {
    encode_row<A, Kind, false, Divide>(row, n, operand, codes);
  }
}

template <class A, QuantKind Kind, class Row>
inline void quantize_row(const Row& row, std::int64_t n, std::uint8_t* codes, float* scale) {
  const float amax = absolute_maximum<A>(row, n);
  if constexpr (Kind == QuantKind::int8_a2 || Kind == QuantKind::int8_a2_query) {
    const float reciprocal = 127.0F / amax;
    encode_row<A, Kind, false>(amax <= kLargestFinite && reciprocal <= kLargestFinite, row, n, reciprocal, codes);
    *scale = canonical(amax / 127.0F);
  } else {
    const float row_scale = amax * kReciprocalMax<Kind>;
    encode_row<A, Kind, true>(row_scale >= kSmallestNormal && amax <= kLargestFinite, row, n, row_scale, codes);
    *scale = canonical(row_scale);
  }
}

template <class A, class Row>
inline void quantize_row(QuantKind kind, const Row& row, std::int64_t n, std::uint8_t* codes, float* scale) {
  switch (kind) {
    case QuantKind::int8_a2:
      return quantize_row<A, QuantKind::int8_a2>(row, n, codes, scale);
    case QuantKind::int8_a2_query:
      return quantize_row<A, QuantKind::int8_a2_query>(row, n, codes, scale);
    case QuantKind::int8_950:
      return quantize_row<A, QuantKind::int8_950>(row, n, codes, scale);
    case QuantKind::e4m3:
      return quantize_row<A, QuantKind::e4m3>(row, n, codes, scale);
    case QuantKind::hif8:
      return quantize_row<A, QuantKind::hif8>(row, n, codes, scale);
  }
}

template <class A>
void dynamic_quant(QuantKind kind, const float* y, const float* smooth, std::int64_t n, std::uint8_t* codes,
                   float* scale) {
  if (smooth != nullptr) {
    quantize_row<A>(kind, SmoothRow<A>{y, smooth}, n, codes, scale);
  } else {
    quantize_row<A>(kind, PlainRow<A>{y}, n, codes, scale);
  }
}

template <class A>
void dynamic_quant_bf16(QuantKind kind, const bf16_t* y, std::int64_t n, std::uint8_t* codes, float* scale) {
  quantize_row<A>(kind, Bf16Row<A>{y}, n, codes, scale);
}

template <class A, QuantKind Kind>
inline void static_quant(const float* c, const float* scale, std::int64_t scale_stride, std::int64_t n,
                         std::uint8_t* codes) {
  if (scale_stride == 0) {
    encode_row<A, Kind, false, false>(PlainRow<A>{c}, n, *scale, codes);
  } else {
    encode_row<A, Kind, false, false>(SmoothRow<A>{c, scale}, n, 1.0F, codes);  // times 1: exact
  }
}

template <class A>
void static_quant(QuantKind kind, const float* c, const float* scale, std::int64_t scale_stride, std::int64_t n,
                  std::uint8_t* codes) {
  if (kind == QuantKind::e4m3) {
    static_quant<A, QuantKind::e4m3>(c, scale, scale_stride, n, codes);
  } else if (kind == QuantKind::hif8) {
    static_quant<A, QuantKind::hif8>(c, scale, scale_stride, n, codes);
  } else {
    static_quant<A, QuantKind::int8_950>(c, scale, scale_stride, n, codes);
  }
}

// c clipped to [low, high]. Neither bound is NaN, which in a tile means that no element is.
template <class A>
struct ClippedRow {
  const float* c;
  float high;
  float low;
  Quad<A> operator()(std::int64_t i, auto lanes) const {
    const auto clip = [*this](const Floats<A>& x) { return xs::max(xs::min(x, Floats<A>(high)), Floats<A>(low)); };
    return map(load_quad<A>(c + i, lanes), clip);
  }
};

inline constexpr std::int64_t kTile = 128;

template <class A>
inline void tile_quant_int8(const float* c, float alpha, std::uint8_t* codes, float* scale) {
  const float amax = absolute_maximum<A>(PlainRow<A>{c}, kTile);
  const float high = amax * alpha;
  const float tile_scale = high * kReciprocalMax<QuantKind::int8_950>;
  *scale = canonical(tile_scale);
  if (high != high) {  // NaN propagates through the clip to every element
    for (std::int64_t i = 0; i < kTile; ++i) codes[i] = 0;
    return;
  }
  const ClippedRow<A> row{c, high, amax * -alpha};
  encode_row<A, QuantKind::int8_a2, false, false>(row, kTile, 1.0F / tile_scale, codes);
}

// The floor applies here only; there is no clip.
template <class A, QuantKind Kind>
inline void tile_quant_float8(const float* c, std::uint8_t* codes, float* scale) {
  constexpr float kFloor = 1e-4F;
  const float amax = absolute_maximum<A>(PlainRow<A>{c}, kTile);
  const float tile_scale = (amax < kFloor ? kFloor : amax) * kReciprocalMax<Kind>;
  encode_row<A, Kind, true>(amax <= kLargestFinite, PlainRow<A>{c}, kTile, tile_scale, codes);
  *scale = canonical(tile_scale);
}

template <class A>
void tile_quant(QuantKind kind, const float* c, float alpha, std::uint8_t* codes, float* scale) {
  if (kind == QuantKind::e4m3) {
    tile_quant_float8<A, QuantKind::e4m3>(c, codes, scale);
  } else if (kind == QuantKind::hif8) {
    tile_quant_float8<A, QuantKind::hif8>(c, codes, scale);
  } else {
    tile_quant_int8<A>(c, alpha, codes, scale);
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
