#include "mla_prolog/version.hpp"

#include "mla_prolog/system.hpp"

namespace mla_prolog {

const char* version() noexcept { return MLA_PROLOG_VERSION; }

}  // namespace mla_prolog
