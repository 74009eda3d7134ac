#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"
#include "kernels/simd/row_table.hpp"

namespace mla_prolog::kernels {

extern constinit const RowKernels row_kernels_neon = make_row_kernels<xs::neon64>();

extern constinit const IsaUnit isa_unit_neon{Isa::neon, compiled_isa(), &row_kernels_neon, &gemm_kernels_neon};

}  // namespace mla_prolog::kernels
