// Format conversion (ND <-> FRACTAL_NZ) and number-format codecs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog {

/// Rearranges a weight between ND (K, N) and FRACTAL_NZ (N/w0, K/16, 16, w0), w0 = nz_width(dtype). Exactly one of the
/// two views is FRACTAL_NZ; its shape may be 4-D or the logical 2-D one. K must be a multiple of 16 and N of w0.
/// Both dense, 1- or 2-byte elements; no overlap.
MLA_PROLOG_API Status format_cast(const ConstTensorView& source, const TensorView& destination) noexcept;

/// Encodes float32 values: bf16 and float16 round to nearest even; float8_e4m3fn and hifloat8 saturate and turn NaN
/// into 0x00; float8_e8m0 takes the exponent of the value rounded to the nearest power of two (NaN, negative: 0xFF);
/// int8 rounds to nearest even and saturates, NaN to 0. float32 copies.
/// @return false (nothing written) for any other dtype.
MLA_PROLOG_API bool encode(DType dtype, const float* values, std::size_t count, void* codes) noexcept;

/// Decodes to float32, exactly. The dtypes of `encode`, and float8_e8m0 (0xFF: NaN).
MLA_PROLOG_API bool decode(DType dtype, const void* codes, std::size_t count, float* values) noexcept;

}  // namespace mla_prolog
