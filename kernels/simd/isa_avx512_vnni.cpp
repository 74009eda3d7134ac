// Row kernels gain nothing from VNNI; they are those of avx512.
#include "kernels/dispatch/isa_unit.hpp"
#include "kernels/gemm/isa_tables.hpp"

namespace mla_prolog::kernels {

extern const RowKernels row_kernels_avx512;

extern constinit const IsaUnit isa_unit_avx512_vnni{Isa::avx512_vnni, compiled_isa(), &row_kernels_avx512,
                                                    &gemm_kernels_avx512_vnni, &gemm_pairs_avx512_vnni};

}  // namespace mla_prolog::kernels
