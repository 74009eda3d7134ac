#include "kernels/dispatch/isa_unit.hpp"

namespace mla_prolog::kernels {

extern constinit const IsaUnit isa_unit_avx512_vnni{Isa::avx512_vnni, compiled_isa(), nullptr, nullptr};

}  // namespace mla_prolog::kernels
