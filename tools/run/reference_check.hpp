// A run's results against the scalar reference, on as many of its first tokens as are asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "tools/run/agreement.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct ReferenceResult {
  std::int64_t tokens = 0;
  std::string tensor;                    ///< the first that differs; empty when all are equal
  std::optional<Difference> difference;  ///< expected: the reference
  std::vector<Agreement> distances;      ///< of all outputs and caches, with `numerics = fast` only

  /// Equal to the bit; with `numerics = fast` within its bounds.
  bool agrees() const noexcept;
};

/// Computes the first `tokens` tokens again with the reference and compares all their outputs and cache slots.
/// @param results   operands after the run
/// @param numerics  of the run: what is computed with `fast` need not have the reference's bits
ReferenceResult compare_with_reference(const Operands& results, const Plan& plan, std::int64_t tokens,
                                       Numerics numerics);

}  // namespace mla_prolog::tools
