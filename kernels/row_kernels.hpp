// The per-row steps of the operator as one table of functions: the scalar reference fills one, every instruction set
// another, and all tables give the same bits. Steps, names and constants: numerics.md sections 2.3 to 8.4.
//
// Common policy: IEEE binary32, one rounding per operation, no fma, denormals kept; max and min propagate NaN; a NaN
// that is stored becomes 0x7FC0 (bf16) or 0x7FC00000 (float32). Rows may have any length n >= 1 unless said; pointers
// need only element alignment; y may equal v.
#pragma once

#include <cstdint>

#include "kernels/formats/codes.hpp"

namespace mla_prolog::kernels {

// Which 8-bit code, and by which chain of conversions.
enum class QuantKind : std::uint8_t {
  int8_a2,        // scale amax/127, element y*(127/amax), I8a
  int8_a2_query,  // as int8_a2 with the double-rounding chain I8b
  int8_950,       // scale amax*(1/127), element y/scale, I8c
  e4m3,           // scale amax*(1/448), element y/scale, F8
  hif8,           // scale amax*2^-15, element y/scale, H8
};

struct RowKernels {
  // RmsNorm, 64-lane sum and pairwise tree (2.4). n is a multiple of 64. reciprocal_n = 1.0f/n. apply_scale false: the
  // last multiply is skipped.
  void (*rms_norm)(const float* v, std::int64_t n, float reciprocal_n, float epsilon, const bf16_t* gamma, float scale,
                   bool apply_scale, float* y);

  // Row-max quantisation (5.2, 6.1, 6.2): y*smooth first where smooth is not null. *scale is the stored dequant scale.
  void (*dynamic_quant)(QuantKind kind, const float* y, const float* smooth, std::int64_t n, std::uint8_t* codes,
                        float* scale);

  // The same of values that are bf16, as queries are (6), without smooth.
  void (*dynamic_quant_bf16)(QuantKind kind, const bf16_t* y, std::int64_t n, std::uint8_t* codes, float* scale);

  // MX quantisation of BFA(y) in blocks of 32 (5.3), n a multiple of 32; scales holds n/32 E8M0 bytes.
  void (*mx_quant)(const float* y, std::int64_t n, std::uint8_t* codes, std::uint8_t* scales);

  // codes[i] = convert(c[i] * scale[i * scale_stride]) (8.2, 8.3); stride 0: per tensor, 1: per channel. kind: int8_a2,
  // int8_950 (the same codes), e4m3 or hif8.
  void (*static_quant)(QuantKind kind, const float* c, const float* scale, std::int64_t scale_stride, std::int64_t n,
                       std::uint8_t* codes);

  // One tile of 128 values (8.4). int8 kinds clip by alpha; e4m3 and hif8 use the 1e-4 floor and ignore alpha.
  void (*tile_quant)(QuantKind kind, const float* c, float alpha, std::uint8_t* codes, float* scale);

  // Dequantisation (2.3): token_first: (m*token)*channel[j] (a2), else (m*channel[j])*token (950). out may equal m in
  // the float32 form.
  void (*dequant_int32)(const std::int32_t* m, std::int64_t n, float token_scale, const float* channel_scale,
                        bool token_first, float* out);
  void (*dequant_float32)(const float* m, std::int64_t n, float token_scale, const float* channel_scale,
                          bool token_first, float* out);

  // RoPE of one 64-wide vector, rounded to bf16 (7).
  void (*rope)(const float* x, const bf16_t* sin, const bf16_t* cos, bf16_t* out);

  // x[i] = BF(f32(x[i]) * factor) (6.4, the factor is formed by the caller).
  void (*scale_bf16)(bf16_t* x, std::int64_t n, float factor);

  void (*round_to_bf16)(const float* x, std::int64_t n, bf16_t* out);  // nearest even
  void (*widen_bf16)(const bf16_t* x, std::int64_t n, float* out);     // exact
};

// The scalar table (kernels/reference).
const RowKernels& reference_row_kernels() noexcept;

}  // namespace mla_prolog::kernels
