// A run's results against the scalar reference, on as many of its first tokens as are asked for.
#pragma once

#include <optional>
#include <string>

#include "mla_prolog/plan.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct ReferenceResult {
  std::int64_t tokens = 0;
  std::string tensor;                    ///< the first that differs; empty when all are equal
  std::optional<Difference> difference;  ///< expected: the reference
};

/// Computes the first `tokens` tokens again with the reference and compares all their outputs and cache slots.
/// @param results  operands after the run
ReferenceResult compare_with_reference(const Operands& results, const Plan& plan, std::int64_t tokens);

}  // namespace mla_prolog::tools
