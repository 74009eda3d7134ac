// What `explain` tells, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "mla_prolog/explain.hpp"
#include "tools/commands/planned_scenario.hpp"
#include "tools/run/recorded_run.hpp"

namespace mla_prolog::tools {

struct ExplainReport {
  ScenarioName scenario;
  Plan plan;
  Numerics numerics = Numerics::strict;
  Explanation explanation;
  std::optional<RecordedRun> measured;  ///< none when not asked for
};

/// @param simulate  also what each thread is expected to do
void print_explanation(const ExplainReport& report, bool simulate);
nlohmann::ordered_json explanation_json(const ExplainReport& report);

}  // namespace mla_prolog::tools
