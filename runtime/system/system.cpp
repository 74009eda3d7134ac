#include "mla_prolog/system.hpp"

#include "runtime/scheduler/team.hpp"

namespace mla_prolog {

int default_threads() noexcept { return available_threads(); }

}  // namespace mla_prolog
