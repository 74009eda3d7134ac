// What the property tests run on and how long, from the environment.
//
//   MLA_PROLOG_TEST_BACKEND, MLA_PROLOG_TEST_ISA, MLA_PROLOG_TEST_THREADS  the plan's options (default: automatic)
//   MLA_PROLOG_PROPERTY_CASES  cases per property; 100 is the default, properties scale it to their cost
//   MLA_PROLOG_CASE_SEED       runs this one case of each property, as a failure prints it
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mla_prolog/plan.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {

/// The options under test.
PlanOptions options_under_test();
/// Why this build or CPU cannot run them; empty when it can.
std::string options_unavailable();
/// The scalar reference on one thread.
PlanOptions reference_options();
/// Whether the backend under test keeps its bits where a single product leaves float32's normal range (an instruction
/// set without fused multiply-add need not).
bool exact_for_all_products();

/// Calls `property` with a generator of its own for each of `share` percent of the configured number of cases, with the
/// seed that repeats it in Catch's messages.
void for_each_case(int share, const std::function<void(Rng&)>& property);

}  // namespace mla_prolog::test
