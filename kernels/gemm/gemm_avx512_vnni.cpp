#include "kernels/gemm/set_avx512.hpp"
//
#include "kernels/gemm/bf16_pairs.hpp"
#include "kernels/gemm/drivers.hpp"
#include "kernels/gemm/isa_tables.hpp"

namespace mla_prolog::kernels {

namespace {

constexpr GemmKernels with_bf16_pairs() {
  GemmKernels kernels = make_gemm_kernels();
  GemmFunctions& bf16 = kernels.types[static_cast<std::size_t>(GemmType::bf16)];
  bf16 = functions_of<Bf16PairsType>(kPairsFrom);
  bf16.pack_x = &pack_x_pairs;
  bf16.packed = &packed_pairs;
  bf16.packed_gain = kPairsGain;
  return kernels;
}

}  // namespace

extern constinit const GemmKernels gemm_kernels_avx512_vnni = make_gemm_kernels();
extern constinit const GemmPairs gemm_pairs_avx512_vnni = {with_bf16_pairs(), &pairs_are_exact};

}  // namespace mla_prolog::kernels
