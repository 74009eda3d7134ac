#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"
#include "kernels/simd/row_table.hpp"

namespace mla_prolog::kernels {

extern constinit const RowKernels row_kernels_sse4_2 = make_row_kernels<xs::sse4_2>();

extern constinit const IsaUnit isa_unit_sse4_2{Isa::sse4_2, compiled_isa(), &row_kernels_sse4_2, &gemm_kernels_sse4_2};

}  // namespace mla_prolog::kernels
