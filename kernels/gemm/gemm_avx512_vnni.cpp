#include "kernels/gemm/set_avx512.hpp"
//
#include "kernels/gemm/drivers.hpp"
#include "kernels/gemm/isa_tables.hpp"

namespace mla_prolog::kernels {

extern constinit const GemmKernels gemm_kernels_avx512_vnni = make_gemm_kernels();

}  // namespace mla_prolog::kernels
