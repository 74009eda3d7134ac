#include "tools/commands/planned_scenario.hpp"

#include <iostream>
#include <utility>

namespace mla_prolog::tools {

std::vector<PlannedScenario> plan_all(const RunSetting& setting, const RunInputs& inputs, PlanOptions options) {
  options.domain = Domain::relaxed;
  options.profile = setting.profile;
  std::vector<PlannedScenario> planned;
  for (const ScenarioName& scenario : setting.scenarios) {
    const Problem problem = inputs.problem(scenario);
    try {
      if (setting.profile == Profile::a2 && scenario.weight > 2) {
        throw UsageError("--profile a2: has no weight mode " + std::to_string(scenario.weight) + " (scenario " +
                         scenario.text() + ")");
      }
      planned.push_back({scenario, plan_or_throw(problem, options, "scenario " + scenario.text())});
    } catch (const UsageError& error) {
      const bool scenario_matters = setting.scenarios.size() > 1 && setting.profile == Profile::a2;
      throw UsageError(std::string(error.what()) + (scenario_matters ? "; choose a scenario with --quant" : ""));
    } catch (const InputError& error) {
      throw UsageError(std::string(error.what()) + (setting.single() ? "" : "; choose a scenario with --quant"));
    }
  }
  return planned;
}

void print_warnings(const RunInputs& inputs) {
  for (const std::string& warning : inputs.warnings()) std::cerr << "warning: " << one_line(warning) << '\n';
}

void check_memory(const Problem& problem) {
  const std::size_t needed = total_bytes(problem);
  if (needed > physical_memory()) {
    throw UsageError("memory: tensors of " + std::to_string(needed) + " bytes do not fit into this machine's memory");
  }
}

PlanOptions plan_options(const EngineOptions& engine, const std::string& numerics) {
  PlanOptions options = plan_options(engine);
  const auto parsed = parse<Numerics>(numerics);
  if (!parsed) throw UsageError("--numerics " + numerics + ": is unknown; there is: strict fast");
  options.numerics = *parsed;
  return options;
}

}  // namespace mla_prolog::tools
