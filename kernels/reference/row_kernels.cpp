// The scalar table.
#include "kernels/row_kernels.hpp"

#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels {

const RowKernels& reference_row_kernels() noexcept {
  static constexpr RowKernels kTable{
      .rms_norm = reference::rms_norm,
      .dynamic_quant = reference::dynamic_quant,
      .dynamic_quant_bf16 = reference::dynamic_quant_bf16,
      .mx_quant = reference::mx_quant,
      .static_quant = reference::static_quant,
      .tile_quant = reference::tile_quant,
      .dequant_int32 = reference::dequant_int32,
      .dequant_float32 = reference::dequant_float32,
      .rope = reference::rope,
      .scale_bf16 = reference::scale_bf16,
      .round_to_bf16 = reference::round_to_bf16,
      .widen_bf16 = reference::widen_bf16,
  };
  return kTable;
}

}  // namespace mla_prolog::kernels
