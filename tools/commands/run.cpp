// run: the operator on generated, loaded or given inputs, in one scenario or all; timed and compared with the
// reference.
#include <algorithm>
#include <memory>

#include "mla_prolog/system.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/planned_scenario.hpp"
#include "tools/commands/problem_options.hpp"
#include "tools/commands/run_report.hpp"
#include "tools/io/digest.hpp"
#include "tools/run/inputs.hpp"
#include "tools/run/recorded_run.hpp"
#include "tools/run/save.hpp"
#include "tools/run/trace.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  RunRequest request;
  EngineOptions engine;
  std::optional<int> repeat;
  std::optional<std::int64_t> reference_tokens;
  bool json = false;
};

ScenarioReport report_on(const PlannedScenario& planned, const Options& options, Operands& operands) {
  const Plan& plan = planned.plan;
  ScenarioReport report;
  report.scenario = planned.scenario;
  report.profile = plan.profile();
  report.isa = plan.isa();
  report.backend = plan.backend();
  report.numerics = options.request.numerics == "fast" ? Numerics::fast : Numerics::strict;
  report.threads = plan.threads();
  report.work = work_of(operands.problem);
  report.timing = run_and_time(plan, operands, options.repeat);
  for (const TensorId id : all_tensors()) {
    if (!is_result(operands.problem, id)) continue;
    const TensorDesc& desc = operands.problem[id];
    report.outputs.push_back({std::string(to_string(id)), desc.dtype,
                              std::vector<std::int64_t>(desc.shape.begin(), desc.shape.begin() + desc.rank),
                              digest(operands[id].bytes())});
  }
  return report;
}

int execute(const Options& options) {
  Progress progress;
  progress.show("reading");
  const RunSetting setting = resolve(options.request);
  RunInputs inputs(options.request, setting);
  const std::vector<PlannedScenario> planned =
      plan_all(setting, inputs, plan_options(options.engine, options.request.numerics));
  for (const PlannedScenario& next : planned) check_memory(next.plan.problem());
  progress.show("measuring this machine");
  const Roof roof = measure_roof(planned.front().plan.isa(), planned.front().plan.threads());
  progress.clear();
  if (!options.json) print_run_heading(setting, options.request, roof);

  // The reference takes its time per token; the first ones say as much as all.
  constexpr std::int64_t kDefaultReferenceTokens = 8;
  const std::int64_t compared = std::min(setting.tokens(), options.reference_tokens.value_or(kDefaultReferenceTokens));
  std::vector<ScenarioReport> reports;
  std::optional<Operands> operands;
  for (const PlannedScenario& next : planned) {
    progress.show(next.scenario.text() + ": inputs");
    operands = inputs.make(next.scenario, next.plan.problem(), next.plan.profile(), operands ? &*operands : nullptr);
    if (reports.empty()) {  // once, and only of what could be used
      progress.clear();
      print_warnings(inputs);
    }
    if (options.request.save_inputs) save_inputs(*options.request.save_inputs, *operands);
    progress.show(next.scenario.text() + ": running");
    ScenarioReport report = report_on(next, options, *operands);
    if (options.request.output) save_outputs(*options.request.output, *operands);
    if (options.request.trace) {
      write_trace(*options.request.trace, explain(next.plan), record(next.plan, *operands, 1).tiles);
    }
    if (compared > 0) {
      progress.show(next.scenario.text() + ": reference");
      report.reference = compare_with_reference(*operands, next.plan, compared, report.numerics);
    }
    progress.clear();
    if (!options.json) print_scenario(report, setting, roof);
    reports.push_back(std::move(report));
  }
  if (options.json) {
    print_json(run_json(setting, options.request, roof, reports));
  } else {
    print_run_summary(reports);
  }
  const bool different = std::ranges::any_of(reports, &ScenarioReport::differs);
  return different ? kExitCheckFailed : kExitFine;
}

}  // namespace

Command add_run(CLI::App& program) {
  auto options = std::make_shared<Options>();
  RunRequest& request = options->request;
  CLI::App* const app = program.add_subcommand("run", "Run, time and check the operator");
  add_problem_options(*app, request);
  app->add_option("--output", request.output, "write all outputs and whole caches (one scenario only)");
  app->add_option("--save-inputs", request.save_inputs, "write all inputs (one scenario only)");
  app->add_option("--trace", request.trace, "write a Chrome trace of the tiles of one call (one scenario only)");
  app->add_option("--numerics", request.numerics, "strict or fast")->capture_default_str();
  app->add_option("--repeat", options->repeat, "timed calls (default: several)")->check(CLI::Range(1, 1000000));
  app->add_option("--reference-tokens", options->reference_tokens,
                  "tokens to compare with the reference (default: up to 8; 0: none)")
      ->check(CLI::Range(std::int64_t{0}, kMostTokens));
  add_engine_options(*app, options->engine);
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
