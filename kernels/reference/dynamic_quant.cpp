// Quantisation with a scale taken from the data: per row (numerics.md 5.2, 6) and per cache tile (8.4).
//
// Maxima propagate NaN. No floor protects a zero row: its scale is 0, 0/0 and 0*inf are NaN, and NaN converts to code
// 0.
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/reference/encode.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {
namespace {

float max_propagating_nan(float a, float b) { return a != a || b != b ? a + b : (a > b ? a : b); }
float min_propagating_nan(float a, float b) { return a != a || b != b ? a + b : (a < b ? a : b); }

// value(i) is element i of the row.
template <typename Value>
float absolute_maximum(Value value, std::int64_t n) {
  float amax = 0;
  for (std::int64_t i = 0; i < n; ++i) amax = max_propagating_nan(amax, std::fabs(value(i)));
  return amax;
}

template <typename Value>
void quantize_row(QuantKind kind, Value value, std::int64_t n, std::uint8_t* codes, float* scale) {
  const float amax = absolute_maximum(value, n);
  const bool by_reciprocal = kind == QuantKind::int8_a2 || kind == QuantKind::int8_a2_query;
  const float row_scale = by_reciprocal ? amax / kInt8Max : amax * reciprocal_max(kind);
  const float reciprocal = kInt8Max / amax;
  for (std::int64_t i = 0; i < n; ++i) {
    codes[i] = encode(kind, by_reciprocal ? value(i) * reciprocal : value(i) / row_scale);
  }
  *scale = canonical(row_scale);
}

}  // namespace

void dynamic_quant(QuantKind kind, const float* y, const float* smooth, std::int64_t n, std::uint8_t* codes,
                   float* scale) {
  quantize_row(
      kind, [=](std::int64_t i) { return smooth != nullptr ? y[i] * smooth[i] : y[i]; }, n, codes, scale);
}

void dynamic_quant_bf16(QuantKind kind, const bf16_t* y, std::int64_t n, std::uint8_t* codes, float* scale) {
  quantize_row(
      kind, [=](std::int64_t i) { return float_from_bf16(y[i]); }, n, codes, scale);
}

void tile_quant(QuantKind kind, const float* c, float alpha, std::uint8_t* codes, float* scale) {
  constexpr std::int64_t kTile = 128;
  constexpr float kFloor = 1e-4F;
  const float amax = absolute_maximum([=](std::int64_t i) { return c[i]; }, kTile);
  if (kind == QuantKind::e4m3 || kind == QuantKind::hif8) {
    const float tile_scale = max_propagating_nan(amax, kFloor) * reciprocal_max(kind);
    for (std::int64_t i = 0; i < kTile; ++i) codes[i] = encode(kind, c[i] / tile_scale);
    *scale = canonical(tile_scale);
    return;
  }
  const float high = amax * alpha;
  const float low = amax * -alpha;
  const float tile_scale = high * reciprocal_max(QuantKind::int8_950);
  const float reciprocal = 1.0F / tile_scale;
  for (std::int64_t i = 0; i < kTile; ++i) {
    const float clipped = max_propagating_nan(min_propagating_nan(c[i], high), low);
    codes[i] = encode(kind, clipped * reciprocal);
  }
  *scale = canonical(tile_scale);
}

}  // namespace mla_prolog::kernels::reference
