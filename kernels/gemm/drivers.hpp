// From the register tiles of one instruction set to its GemmKernels table. Included once per instruction set, after its
// set_*.hpp.
#pragma once

#include "kernels/gemm/gemm_kernels.hpp"
#include "kernels/gemm/in_place.hpp"
#include "kernels/gemm/packed.hpp"

namespace mla_prolog::kernels {
namespace {

template <typename Type>
constexpr GemmFunctions functions_of(std::int64_t packed_from) {
  GemmFunctions functions{};
  functions.x_bytes = &x_bytes<Type>;
  if constexpr (Type::kInt) {
    functions.pack_x = &pack_x_int;
  } else {
    functions.pack_x = &pack_x_float<Type>;
  }
  functions.scratch_bytes = &scratch_bytes<Type>;
  functions.in_place = &in_place<Type>;
  functions.packed = &packed<Type>;
  functions.in_place_columns = [](std::int64_t group) {
    return max_of(std::int64_t{kInPlaceTable<Type>.rows[group - 1].units} * Type::Decoder::kColumns,
                  kPanelBytes / kElementBytes<typename Type::Decoder>);
  };
  functions.in_place_group = kMaxInPlaceTokens<Type>;
  functions.packed_group = kPanelTokens;
  functions.packed_columns = kBatchColumns<Type>;
  functions.packed_from = packed_from;
  functions.packed_gain = 1.0;
  return functions;
}

constexpr GemmKernels make_gemm_kernels() {
  return {{functions_of<Bf16Type>(VectorSet::kPackedFromBf16), functions_of<Int8Type>(VectorSet::kPackedFromInt8),
           functions_of<E4m3Type>(VectorSet::kPackedFromE4m3), functions_of<Hif8Type>(VectorSet::kPackedFromHif8),
           functions_of<MxType>(VectorSet::kPackedFromE4m3)}};
}

}  // namespace
}  // namespace mla_prolog::kernels
