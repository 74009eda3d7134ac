#include "kernels/dispatch/isa_unit.hpp"

namespace mla_prolog::kernels {

extern constinit const IsaUnit isa_unit_neon_dotprod{Isa::neon_dotprod, compiled_isa(), nullptr, nullptr};

}  // namespace mla_prolog::kernels
