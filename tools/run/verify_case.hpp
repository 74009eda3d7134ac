// One golden case from files to verdict.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mla_prolog/plan.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct CaseVerdict {
  std::string name;
  std::string tensor;  ///< the first tensor of the file that differs; empty when all are equal
  std::optional<Difference> difference;
};

/// Plans a problem or throws.
using Planner = std::function<Plan(const Problem& problem, Profile profile, const std::string& file)>;

/// Reads NAME.json and NAME.safetensors, makes the inputs, checks their checksums, runs the operator and compares every
/// expected tensor. Throws InputError when a file is not what it must be, or the operator refuses its inputs.
CaseVerdict verify_case(const std::string& json_path, const Planner& planner);

}  // namespace mla_prolog::tools
