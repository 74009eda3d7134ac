#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"
#include "kernels/simd/row_table.hpp"

namespace mla_prolog::kernels {

extern constinit const RowKernels row_kernels_avx2 = make_row_kernels<xs::avx2>();

extern constinit const IsaUnit isa_unit_avx2{Isa::avx2, compiled_isa(), &row_kernels_avx2, &gemm_kernels_avx2};

}  // namespace mla_prolog::kernels
