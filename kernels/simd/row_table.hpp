// The table of one instruction set.
#pragma once

#include "kernels/simd/bf16_rows.hpp"
#include "kernels/simd/dequant.hpp"
#include "kernels/simd/mx_quant.hpp"
#include "kernels/simd/quant.hpp"
#include "kernels/simd/rms_norm.hpp"
#include "kernels/simd/rope.hpp"

namespace mla_prolog::kernels {
namespace {

template <class A>
constexpr RowKernels make_row_kernels() noexcept {
  return {
      .rms_norm = rms_norm<A>,
      .dynamic_quant = dynamic_quant<A>,
      .dynamic_quant_bf16 = dynamic_quant_bf16<A>,
      .mx_quant = mx_quant<A>,
      .static_quant = static_quant<A>,
      .tile_quant = tile_quant<A>,
      .dequant_int32 = dequant<A, std::int32_t>,
      .dequant_float32 = dequant<A, float>,
      .rope = rope<A>,
      .scale_bf16 = scale_bf16<A>,
      .round_to_bf16 = round_to_bf16<A>,
      .widen_bf16 = widen_bf16<A>,
  };
}

}  // namespace
}  // namespace mla_prolog::kernels
