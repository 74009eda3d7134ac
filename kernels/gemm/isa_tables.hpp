// The matmul tables, one per instruction set; which of them exist depends on the architecture.
#pragma once

#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::kernels {

extern const GemmKernels gemm_kernels_sse4_2;
extern const GemmKernels gemm_kernels_avx2;
extern const GemmKernels gemm_kernels_avx512;
extern const GemmKernels gemm_kernels_avx512_vnni;
extern const GemmPairs gemm_pairs_avx512_vnni;
extern const GemmKernels gemm_kernels_neon;
extern const GemmKernels gemm_kernels_neon_dotprod;

}  // namespace mla_prolog::kernels
