// repro: the same calls computed in every way that must not matter; all must give one value.
#include "tools/run/repro.hpp"

#include <iostream>
#include <memory>

#include "tools/commands/command.hpp"
#include "tools/io/digest.hpp"
#include "tools/run/inputs.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t cases = 16;
  std::optional<std::int64_t> only;
  std::optional<std::int64_t> tokens;
  std::size_t variants = 24;
  int repeats = 2;
  bool full = false;
  bool json = false;
};

struct Outcome {
  std::string text;
  std::size_t variants = 0;
  Digests digests;  // of the first variant
  // Of the first variant that differs.
  std::string tensor;
  std::string first;
  std::string second;
};

Outcome examine(const ReproCase& one, const Options& options, Progress& progress) {
  const RunSetting setting = resolve(one.request);
  RunInputs inputs(one.request, setting);
  const Problem problem = inputs.problem(one.scenario);
  const Plan plan = plan_or_throw(problem, {}, one.text());
  const Operands operands = inputs.make(one.scenario, problem, plan.profile(), nullptr);
  std::vector<Variant> variants = repro_variants(problem, plan.profile());
  if (!options.full) {
    variants = sample(variants, options.variants, one.seed + static_cast<std::uint64_t>(one.index));
  }
  Outcome outcome;
  outcome.text = one.text();
  outcome.variants = variants.size();
  outcome.digests = compute(operands, plan.profile(), variants.front());
  for (const Variant& variant : variants) {
    progress.show(outcome.text + ": " + variant.text());
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      outcome.tensor = first_difference(outcome.digests, compute(operands, plan.profile(), variant));
      if (outcome.tensor.empty()) continue;
      outcome.first = variants.front().text();
      outcome.second = variant.text();
      return outcome;
    }
  }
  return outcome;
}

nlohmann::ordered_json to_json(const ReproCase& one, const Outcome& outcome) {
  const RunRequest& request = one.request;
  nlohmann::ordered_json json{{"case", one.index},
                              {"scenario", one.scenario.text()},
                              {"tokens", *request.tokens},
                              {"he", *request.he},
                              {"hcq", *request.hcq},
                              {"heads", *request.heads},
                              {"nope_dim", *request.nope_dim},
                              {"cache_mode", request.cache_mode},
                              {"variants", outcome.variants},
                              {"digest", digest_text(combined(outcome.digests))},
                              {"equal", outcome.tensor.empty()}};
  if (outcome.tensor.empty()) return json;
  json["tensor"] = outcome.tensor;
  json["first"] = outcome.first;
  json["second"] = outcome.second;
  return json;
}

int execute(const Options& options) {
  Progress progress;
  auto cases = nlohmann::ordered_json::array();
  std::size_t different = 0;
  const std::int64_t begin = options.only.value_or(0);
  const std::int64_t end = options.only ? begin + 1 : options.cases;
  for (std::int64_t i = begin; i < end; ++i) {
    const ReproCase one = repro_case(options.seed, i, options.tokens);
    const Outcome outcome = examine(one, options, progress);
    progress.clear();
    if (!outcome.tensor.empty()) ++different;
    if (options.json) {
      cases.push_back(to_json(one, outcome));
    } else if (outcome.tensor.empty()) {
      std::cout << "SAME " << outcome.text << ": " << outcome.variants << " variants, "
                << digest_text(combined(outcome.digests)) << '\n';
    } else {
      std::cout << "DIFFERENT " << outcome.text << ": " << outcome.tensor << " of [" << outcome.first << "] and of ["
                << outcome.second << "]; again: repro --seed " << options.seed << " --case " << i
                << (options.full ? " --full" : "") << '\n';
    }
  }
  if (options.json) {
    print_json({{"command", "repro"},
                {"seed", options.seed},
                {"full", options.full},
                {"repeats", options.repeats},
                {"cases", std::move(cases)},
                {"different", different}});
  } else {
    std::cout << "summary: " << end - begin << " cases, " << different << " different\n";
  }
  return different == 0 ? kExitFine : kExitCheckFailed;
}

}  // namespace

Command add_repro(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app =
      program.add_subcommand("repro", "Compute small calls in many ways that must not matter, and compare all bits");
  app->add_option("--seed", options->seed, "of cases, data and sample")->capture_default_str();
  app->add_option("--cases", options->cases, "how many; sixteen have every scenario once")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app->add_option("--case", options->only, "only this one")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 20));
  app->add_option("--tokens", options->tokens, "of every case (default: drawn)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}));
  app->add_option("--variants", options->variants, "sampled for each case")
      ->check(CLI::Range(std::size_t{2}, std::size_t{1} << 20))
      ->capture_default_str();
  app->add_option("--repeats", options->repeats, "of each variant")->check(CLI::Range(1, 1000))->capture_default_str();
  app->add_flag("--full", options->full, "all variants instead of a sample");
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
