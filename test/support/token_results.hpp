// What a call must give, put together from its tokens computed one by one.
#pragma once

#include "test/support/case.hpp"

namespace mla_prolog::test {

/// Computes each token of `c` alone, with a cache of its own, on `options`, and lays the results out as the outputs and
/// caches of `c`: the caches as they are now with each token's row at its slot, in the order of the tokens.
TensorBytes from_single_tokens(const Case& c, const PlanOptions& options);

}  // namespace mla_prolog::test
