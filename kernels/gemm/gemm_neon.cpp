#include "kernels/gemm/set_v128.hpp"
//
#include "kernels/gemm/drivers.hpp"
#include "kernels/gemm/isa_tables.hpp"

namespace mla_prolog::kernels {

extern constinit const GemmKernels gemm_kernels_neon = make_gemm_kernels();

}  // namespace mla_prolog::kernels
