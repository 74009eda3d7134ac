#include "kernels/dispatch/isa_unit.hpp"

namespace mla_prolog::kernels {

extern constinit const IsaUnit isa_unit_avx2{Isa::avx2, compiled_isa(), nullptr, nullptr};

}  // namespace mla_prolog::kernels
