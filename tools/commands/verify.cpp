// verify: golden cases against the operator.
#include <iostream>
#include <memory>

#include "tools/commands/command.hpp"
#include "tools/run/verify_case.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  std::vector<std::string> cases;
  EngineOptions engine;
  bool json = false;
};

nlohmann::ordered_json verdict_json(const std::string& file, const CaseVerdict& verdict) {
  nlohmann::ordered_json json{{"file", file}, {"name", verdict.name}, {"status", verdict.difference ? "fail" : "pass"}};
  if (verdict.difference) {
    json["tensor"] = verdict.tensor;
    json["index"] = verdict.difference->index;
    json["expected"] = verdict.difference->expected;
    json["actual"] = verdict.difference->actual;
    json["differences"] = verdict.difference->count;
  }
  return json;
}

void print_verdict(const CaseVerdict& verdict) {
  if (!verdict.difference) {
    std::cout << "PASS " << verdict.name << '\n';
    return;
  }
  const Difference& difference = *verdict.difference;
  std::cout << "FAIL " << verdict.name << ' ' << verdict.tensor << " index " << difference.index << " expected "
            << difference.expected << " actual " << difference.actual << " differences " << difference.count << '\n';
}

int execute(const Options& options) {
  const PlanOptions base = plan_options(options.engine);
  const Planner planner = [&base](const Problem& problem, Profile profile, const std::string& file) {
    PlanOptions chosen = base;
    chosen.domain = Domain::relaxed;
    chosen.profile = profile;
    return plan_or_throw(problem, chosen, file);
  };
  Progress progress;
  ErrorList errors;
  auto cases = nlohmann::ordered_json::array();
  std::size_t passed = 0;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < options.cases.size(); ++i) {
    const std::string& file = options.cases[i];
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(options.cases.size()) + "] " + file);
    try {
      const CaseVerdict verdict = verify_case(file, planner);
      progress.clear();
      (verdict.difference ? failed : passed) += 1;
      if (options.json) {
        cases.push_back(verdict_json(file, verdict));
      } else {
        print_verdict(verdict);
      }
    } catch (const InputError& error) {
      progress.clear();
      errors.add(error);
    } catch (const UsageError& error) {  // an engine that is there, but does not take this case
      progress.clear();
      errors.add(InputError(file, error.what()));
    } catch (const std::bad_alloc&) {
      progress.clear();
      errors.add(InputError(file, "needs more memory than there is"));
    }
  }
  if (options.json) {
    print_json({{"command", "verify"},
                {"isa", options.engine.isa},
                {"backend", options.engine.backend},
                {"cases", std::move(cases)},
                {"errors", errors.json()},
                {"passed", passed},
                {"failed", failed},
                {"unreadable", errors.size()}});
  } else {
    std::cout << "summary: " << options.cases.size() << " cases, " << passed << " passed, " << failed << " failed, "
              << errors.size() << " unreadable\n";
  }
  if (!errors.empty()) return kExitUnreadable;
  return failed == 0 ? kExitFine : kExitCheckFailed;
}

}  // namespace

Command add_verify(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app = program.add_subcommand("verify", "Compare the operator with golden cases, to the bit");
  app->add_option("cases", options->cases, "CASE.json; the expected outputs lie beside it in CASE.safetensors")
      ->required();
  add_engine_options(*app, options->engine);
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
