// Timed calls on request, for programs in other languages that compare themselves with the operator: one process for
// each, calls in turn, neither's threads in the other's way.
#pragma once

#include <iosfwd>

#include "bench/support/data.hpp"

namespace mla_prolog::bench {

// For each line "SCENARIO TOKENS ISA THREADS [strict|fast]" writes a line: the seconds of one call with cold weights,
// or "ERROR cause". A case that was asked for before is kept; another scenario replaces the weights. Returns 0 at the
// end of input.
int serve(std::istream& requests, std::ostream& answers, const Dims& dims);

}  // namespace mla_prolog::bench
