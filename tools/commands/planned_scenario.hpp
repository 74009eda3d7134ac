// The scenarios that the options ask for, planned.
#pragma once

#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "tools/commands/command.hpp"
#include "tools/run/inputs.hpp"

namespace mla_prolog::tools {

struct PlannedScenario {
  ScenarioName scenario;
  Plan plan;
};

/// All plans first: what cannot be done is said before anything is computed.
std::vector<PlannedScenario> plan_all(const RunSetting& setting, const RunInputs& inputs, PlanOptions options);

/// What RunInputs warns of, on stderr.
void print_warnings(const RunInputs& inputs);

/// Throws UsageError when the tensors do not fit this machine's memory.
void check_memory(const Problem& problem);

/// As plan_options of command.hpp, with `--numerics` as typed.
PlanOptions plan_options(const EngineOptions& engine, const std::string& numerics);

}  // namespace mla_prolog::tools
