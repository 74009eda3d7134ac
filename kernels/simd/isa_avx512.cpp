#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"
#include "kernels/simd/row_table.hpp"

namespace mla_prolog::kernels {

extern constinit const RowKernels row_kernels_avx512 = make_row_kernels<xs::avx512bw>();

extern constinit const IsaUnit isa_unit_avx512{Isa::avx512, compiled_isa(), &row_kernels_avx512, &gemm_kernels_avx512};

}  // namespace mla_prolog::kernels
