// explain: how a plan spreads a call over threads, what that is expected to take, and what it takes.
#include <iostream>
#include <memory>

#include "tools/commands/command.hpp"
#include "tools/commands/explain_report.hpp"
#include "tools/commands/planned_scenario.hpp"
#include "tools/commands/problem_options.hpp"
#include "tools/commands/run_report.hpp"
#include "tools/run/trace.hpp"

namespace mla_prolog::tools {
namespace {

constexpr int kDefaultRepeat = 5;

struct Options {
  RunRequest request;
  EngineOptions engine;
  int repeat = kDefaultRepeat;
  bool measure = false;
  bool simulate = false;
  bool json = false;
};

int execute(const Options& options) {
  if (options.measure && options.simulate) {
    throw UsageError("--simulate: conflicts with --measure; it runs nothing");
  }
  Progress progress;
  const RunSetting setting = resolve(options.request);
  RunInputs inputs(options.request, setting);
  const PlanOptions plan_choice = plan_options(options.engine, options.request.numerics);
  const std::vector<PlannedScenario> planned = plan_all(setting, inputs, plan_choice);
  if (options.measure) {
    for (const PlannedScenario& next : planned) check_memory(next.plan.problem());
  }
  if (!options.json) {
    std::cout << setting.source << ": " << dims_text(setting) << "; cache " << cache_text(setting) << '\n';
  }
  auto scenarios = nlohmann::ordered_json::array();
  std::optional<Operands> operands;
  for (const PlannedScenario& next : planned) {
    ExplainReport report{next.scenario, next.plan, plan_choice.numerics, explain(next.plan), std::nullopt};
    if (options.measure) {
      progress.show(next.scenario.text() + ": inputs");
      operands = inputs.make(next.scenario, next.plan.problem(), next.plan.profile(), operands ? &*operands : nullptr);
      progress.clear();
      if (&next == planned.data()) print_warnings(inputs);
      progress.show(next.scenario.text() + ": running");
      report.measured = record(next.plan, *operands, options.repeat);
      progress.clear();
    }
    if (options.request.trace) {
      write_trace(*options.request.trace, report.explanation,
                  report.measured ? report.measured->tiles : report.explanation.tiles);
    }
    if (options.json) {
      scenarios.push_back(explanation_json(report));
    } else {
      print_explanation(report, options.simulate);
    }
  }
  if (options.json) {
    print_json({{"command", "explain"},
                {"source", setting.source},
                {"dims", dims_json(setting)},
                {"cache_mode", to_string(setting.config.cache_mode)},
                {"scenarios", std::move(scenarios)}});
  }
  return kExitFine;
}

}  // namespace

Command add_explain(CLI::App& program) {
  auto options = std::make_shared<Options>();
  RunRequest& request = options->request;
  CLI::App* const app = program.add_subcommand("explain", "Show how a call is spread over threads, and its time");
  add_problem_options(*app, request);
  app->add_option("--numerics", request.numerics, "strict or fast")->capture_default_str();
  app->add_flag("--measure", options->measure, "run it and show the time of each stage");
  app->add_flag("--simulate", options->simulate, "show what is expected of each thread; runs nothing");
  app->add_option("--repeat", options->repeat, "measured calls, of which the median counts")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app->add_option("--trace", request.trace,
                  "write a Chrome trace of the tiles, measured or else expected (one scenario only)");
  add_engine_options(*app, options->engine);
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
