// compare: one case on two backends, and how far apart their results are. The way to check a device against the CPU.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "mla_prolog/system.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/planned_scenario.hpp"
#include "tools/commands/problem_options.hpp"
#include "tools/run/agreement.hpp"
#include "tools/run/inputs.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  RunRequest request;
  std::vector<std::string> backends{"cpu", "ascend"};
  int threads = 0;
  bool json = false;
};

struct Comparison {
  ScenarioName scenario;
  Profile profile = Profile::automatic;
  std::vector<Agreement> tensors;

  bool equal() const {
    for (const Agreement& tensor : tensors) {
      if (tensor.equal() != tensor.elements) return false;
    }
    return true;
  }
};

// What the device's generation does not have.
struct NotRun {
  ScenarioName scenario;
  std::string reason;
};

struct Results {
  std::vector<Comparison> comparisons;
  std::vector<NotRun> not_run;

  bool equal() const {
    return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.equal(); });
  }
};

// Both plans of a scenario, or why the device cannot run it when `may_lack` allows that. A device computes by the
// arithmetic of its generation; the other side follows.
Result<std::vector<Plan>> plan_both(const Options& options, const Problem& problem, Profile profile,
                                    const std::string& scenario, bool may_lack) {
  std::vector<PlanOptions> choices;
  for (const std::string& backend : options.backends) {
    choices.push_back(plan_options({.backend = backend, .threads = options.threads}));
    choices.back().domain = Domain::relaxed;
    choices.back().profile = profile;
  }
  const std::size_t leading = choices[1].backend == Backend::ascend ? 1 : 0;
  if (may_lack && choices[leading].backend == Backend::ascend) {
    const Result<Plan> plan = make_plan(problem, choices[leading]);
    if (!plan.ok() && plan.error().status.rule == Rule::option_unavailable) return plan.error();
  }
  const Plan first = plan_or_throw(problem, choices[leading], scenario);
  choices[1 - leading].profile = first.profile();
  const Plan second = plan_or_throw(problem, choices[1 - leading], scenario);
  return leading == 0 ? std::vector<Plan>{first, second} : std::vector<Plan>{second, first};
}

void run_once(const Plan& plan, Operands& operands, const std::string& backend) {
  Buffer workspace(plan.workspace_bytes());
  const Status status =
      run(plan, prepare_or_throw(plan, operands), operands.pointers(), workspace.data(), workspace.size());
  if (!status.ok()) throw UsageError("backend " + backend + ": " + message(status));
}

// The same inputs and initial caches, with results of their own.
Operands copy_of(const Operands& operands) {
  Operands copy;
  copy.problem = operands.problem;
  for (const TensorId id : all_tensors()) copy[id] = Buffer::copy_of(operands[id].bytes());
  return copy;
}

void print_text(const Comparison& comparison, const Options& options) {
  std::cout << "\nscenario " << comparison.scenario.text() << ", profile " << to_string(comparison.profile) << ": "
            << options.backends[0] << " against " << options.backends[1] << "\n";
  char line[200];
  std::snprintf(line, sizeof line, "  %-22s %10s %9s %9s %8s ", "tensor", "elements", "equal", "off by 1", "largest");
  std::cout << line;
  for (const char* name : kDistanceNames) {
    std::snprintf(line, sizeof line, "%9s", name);
    std::cout << line;
  }
  std::cout << "\n";
  for (const Agreement& tensor : comparison.tensors) {
    std::snprintf(line, sizeof line, "  %-22s %10zu %8.3f%% %8.3f%% %8llu ", tensor.tensor.c_str(), tensor.elements,
                  100 * tensor.share_equal(), 100 * tensor.share_off_by_one(),
                  static_cast<unsigned long long>(tensor.largest));
    std::cout << line;
    for (const std::size_t count : tensor.histogram) {
      std::snprintf(line, sizeof line, "%9zu", count);
      std::cout << line;
    }
    std::cout << "\n";
  }
}

void print_summary(const Results& results) {
  std::cout << "\n";
  for (const NotRun& missing : results.not_run) {
    std::cout << "scenario " << missing.scenario.text() << ": not run: " << missing.reason << "\n";
  }
  std::cout << "summary: " << results.comparisons.size() << " scenarios, "
            << (results.equal() ? "all equal" : "not all equal");
  if (!results.not_run.empty()) std::cout << "; " << results.not_run.size() << " not run";
  std::cout << "\n";
}

nlohmann::ordered_json to_json(const Results& results, const Options& options) {
  nlohmann::ordered_json document;
  document["command"] = "compare";
  document["backends"] = options.backends;
  document["scenarios"] = nlohmann::ordered_json::array();
  for (const Comparison& comparison : results.comparisons) {
    nlohmann::ordered_json scenario;
    scenario["scenario"] = comparison.scenario.text();
    scenario["profile"] = to_string(comparison.profile);
    scenario["equal"] = comparison.equal();
    scenario["tensors"] = nlohmann::ordered_json::array();
    for (const Agreement& tensor : comparison.tensors) {
      nlohmann::ordered_json row;
      row["name"] = tensor.tensor;
      row["dtype"] = to_string(tensor.dtype);
      row["elements"] = tensor.elements;
      row["share_equal"] = tensor.share_equal();
      row["share_off_by_one"] = tensor.share_off_by_one();
      row["largest_distance"] = tensor.largest;
      for (std::size_t i = 0; i < kDistanceNames.size(); ++i) row["histogram"][kDistanceNames[i]] = tensor.histogram[i];
      scenario["tensors"].push_back(row);
    }
    document["scenarios"].push_back(scenario);
  }
  document["not_run"] = nlohmann::ordered_json::array();
  for (const NotRun& missing : results.not_run) {
    document["not_run"].push_back({{"scenario", missing.scenario.text()}, {"reason", missing.reason}});
  }
  return document;
}

int execute(const Options& options) {
  const RunSetting setting = resolve(options.request);
  RunInputs inputs(options.request, setting);
  Progress progress;
  Results results;
  std::optional<Operands> first;
  for (const ScenarioName& scenario : setting.scenarios) {
    progress.show(scenario.text());
    const Problem problem = inputs.problem(scenario);
    const Result<std::vector<Plan>> both =
        plan_both(options, problem, setting.profile, "scenario " + scenario.text(), !setting.single());
    progress.clear();
    if (!both.ok()) {
      results.not_run.push_back({scenario, both.error().message});
      continue;
    }
    const std::vector<Plan>& plans = both.value();
    first = inputs.make(scenario, problem, plans[0].profile(), first ? &*first : nullptr);
    if (results.comparisons.empty()) print_warnings(inputs);
    Operands second = copy_of(*first);
    run_once(plans[0], *first, options.backends[0]);
    run_once(plans[1], second, options.backends[1]);
    results.comparisons.push_back({scenario, plans[0].profile(), agreement_of(*first, second)});
    if (!options.json) print_text(results.comparisons.back(), options);
  }
  if (results.comparisons.empty()) throw UsageError(results.not_run.front().reason);
  if (options.json) {
    print_json(to_json(results, options));
  } else {
    print_summary(results);
  }
  return results.equal() ? kExitFine : kExitCheckFailed;
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app = program.add_subcommand("compare", "Run the operator on two backends and compare the results");
  app->add_option("--backends", options->backends, "two of reference, cpu, onednn, ascend (default: cpu,ascend)")
      ->delimiter(',')
      ->expected(2);
  add_problem_options(*app, options->request);
  add_threads_option(*app, options->threads);
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
