// The scalar per-row steps: one function each, plainly readable against numerics.md; the oracle of every other form.
// Parameters and policy: kernels/row_kernels.hpp.
#pragma once

#include <cstdint>

#include "kernels/row_kernels.hpp"

namespace mla_prolog::kernels::reference {

void rms_norm(const float* v, std::int64_t n, float reciprocal_n, float epsilon, const bf16_t* gamma, float scale,
              bool apply_scale, float* y);
void dynamic_quant(QuantKind kind, const float* y, const float* smooth, std::int64_t n, std::uint8_t* codes,
                   float* scale);
void dynamic_quant_bf16(QuantKind kind, const bf16_t* y, std::int64_t n, std::uint8_t* codes, float* scale);
void mx_quant(const float* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales);
// As mx_quant for values that are bf16 already.
void mx_quant_bf16(const bf16_t* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales);
void static_quant(QuantKind kind, const float* c, const float* scale, std::int64_t scale_stride, std::int64_t n,
                  std::uint8_t* codes);
void tile_quant(QuantKind kind, const float* c, float alpha, std::uint8_t* codes, float* scale);
void dequant_int32(const std::int32_t* m, std::int64_t n, float token_scale, const float* channel_scale,
                   bool token_first, float* out);
void dequant_float32(const float* m, std::int64_t n, float token_scale, const float* channel_scale, bool token_first,
                     float* out);
void rope(const float* x, const bf16_t* sin, const bf16_t* cos, bf16_t* out);
void scale_bf16(bf16_t* x, std::int64_t n, float factor);
void round_to_bf16(const float* x, std::int64_t n, bf16_t* out);
void widen_bf16(const bf16_t* x, std::int64_t n, float* out);

}  // namespace mla_prolog::kernels::reference
