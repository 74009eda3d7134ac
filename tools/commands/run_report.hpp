// What `run` tells, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "nlohmann/json.hpp"
#include "tools/run/measure.hpp"
#include "tools/run/reference_check.hpp"
#include "tools/run/request.hpp"
#include "tools/run/roof.hpp"

namespace mla_prolog::tools {

struct OutputReport {
  std::string name;
  DType dtype = DType::undefined;
  std::vector<std::int64_t> shape;
  std::uint64_t digest = 0;
};

struct ScenarioReport {
  ScenarioName scenario;
  Profile profile = Profile::automatic;
  Isa isa = Isa::automatic;
  Backend backend = Backend::automatic;
  Numerics numerics = Numerics::strict;
  int threads = 0;
  Timing timing;
  Work work;
  std::vector<OutputReport> outputs;
  std::optional<ReferenceResult> reference;  ///< none when not asked for

  bool equal() const noexcept { return reference && !reference->difference; }
  bool differs() const noexcept { return reference && !reference->agrees(); }
};

/// Tokens and dimensions, and the cache, for headings.
std::string dims_text(const RunSetting& setting);
std::string cache_text(const RunSetting& setting);
nlohmann::ordered_json dims_json(const RunSetting& setting);

void print_run_heading(const RunSetting& setting, const RunRequest& request, const Roof& roof);
void print_scenario(const ScenarioReport& report, const RunSetting& setting, const Roof& roof);
void print_run_summary(const std::vector<ScenarioReport>& reports);

nlohmann::ordered_json run_json(const RunSetting& setting, const RunRequest& request, const Roof& roof,
                                const std::vector<ScenarioReport>& reports);

}  // namespace mla_prolog::tools
