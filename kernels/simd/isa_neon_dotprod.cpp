// Row kernels gain nothing from the dot product; they are those of neon.
#include "kernels/dispatch/isa_unit.hpp"

namespace mla_prolog::kernels {

extern const RowKernels row_kernels_neon;

extern constinit const IsaUnit isa_unit_neon_dotprod{Isa::neon_dotprod, compiled_isa(), &row_kernels_neon, nullptr};

}  // namespace mla_prolog::kernels
