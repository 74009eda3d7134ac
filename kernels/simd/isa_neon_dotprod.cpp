// Row kernels gain nothing from the dot product; they are those of neon.
#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"

namespace mla_prolog::kernels {

extern const RowKernels row_kernels_neon;

extern constinit const IsaUnit isa_unit_neon_dotprod{Isa::neon_dotprod, compiled_isa(), &row_kernels_neon,
                                                     &gemm_kernels_neon_dotprod};

}  // namespace mla_prolog::kernels
