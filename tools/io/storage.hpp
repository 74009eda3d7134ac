// How the operator's tensors are stored in safetensors files: the 8-bit floats and E8M0 scales as U8.
#pragma once

#include "mla_prolog/problem.hpp"
#include "tools/io/safetensors.hpp"

namespace mla_prolog::tools {

/// U8 for all 8-bit floats; throws std::logic_error for types no tensor of the operator has.
StorageType storage_type(DType dtype);

/// The operator's type of a stored tensor. Unsigned bytes are e8m0 in scales, else hif8 in weight mode 5 and e4m3 in
/// the others. `undefined` where the operator has no such type.
DType operator_dtype(StorageType storage, TensorId id, std::int64_t weight_quant_mode) noexcept;

/// The three weights that are FRACTAL_NZ for the operator and logical (K, N) in files.
constexpr bool is_nz_weight(TensorId id) noexcept {
  return id == TensorId::weight_dq || id == TensorId::weight_uq_qr || id == TensorId::weight_dkv_kr;
}

/// The dequantisation scales, which are E8M0 in weight mode 3.
constexpr bool is_dequant_scale(TensorId id) noexcept {
  return id == TensorId::dequant_scale_x || id == TensorId::dequant_scale_w_dq ||
         id == TensorId::dequant_scale_w_uq_qr || id == TensorId::dequant_scale_w_dkv_kr ||
         id == TensorId::dequant_scale_q_norm;
}

}  // namespace mla_prolog::tools
