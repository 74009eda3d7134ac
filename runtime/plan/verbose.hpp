// MLA_PROLOG_VERBOSE: what a plan came to, told on stderr while it is made.
#pragma once

#include "runtime/plan/plan_data.hpp"

namespace mla_prolog::detail {

// Writes one line to stderr where the environment has MLA_PROLOG_VERBOSE=1, else nothing. For make_plan only: `run`
// never prints.
void announce(const PlanData& plan);

}  // namespace mla_prolog::detail
