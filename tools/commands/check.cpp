// check: phase-one cases against the rules.
#include <iostream>
#include <memory>

#include "tools/cases/validation_case.hpp"
#include "tools/commands/command.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  std::string cases;
  bool message = false;
  bool json = false;
};

struct Outcome {
  std::int64_t status = 0;
  std::optional<std::uint64_t> workspace;  ///< none where the call is refused
  std::string message;
  bool mismatch = false;
};

Outcome judge(const ValidationCase& given) {
  const CheckReport report = check(given.problem, {Domain::strict, given.soc, ApiVersion::v3});
  Outcome outcome;
  outcome.status = static_cast<std::int64_t>(report.code);
  if (report.code == StatusCode::success) outcome.workspace = report.cann_workspace_bytes;
  outcome.message = one_line(report.message);
  outcome.mismatch = (given.expected_status && *given.expected_status != outcome.status) ||
                     (given.expected_workspace && given.expected_workspace != outcome.workspace);
  return outcome;
}

template <typename T>
std::string text_or_dash(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "-";
}

template <typename T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

int execute(const Options& options) {
  const std::vector<ValidationCase> cases = read_validation_cases(options.cases);
  auto list = nlohmann::ordered_json::array();
  std::size_t mismatches = 0;
  for (const ValidationCase& given : cases) {
    const Outcome outcome = judge(given);
    if (outcome.mismatch) ++mismatches;
    if (options.json) {
      list.push_back({{"id", given.id},
                      {"status", outcome.status},
                      {"workspace", json_or_null(outcome.workspace)},
                      {"expected_status", json_or_null(given.expected_status)},
                      {"expected_workspace", json_or_null(given.expected_workspace)},
                      {"mismatch", outcome.mismatch},
                      {"message", outcome.message}});
      continue;
    }
    std::cout << given.id << ' ' << outcome.status << ' ' << text_or_dash(outcome.workspace);
    if (outcome.mismatch) {
      std::cout << " MISMATCH expected " << text_or_dash(given.expected_status) << ' '
                << text_or_dash(given.expected_workspace);
    }
    if (options.message) std::cout << '\t' << outcome.message;
    std::cout << '\n';
  }
  if (options.json) {
    print_json({{"command", "check"},
                {"file", options.cases},
                {"cases", std::move(list)},
                {"matching", cases.size() - mismatches},
                {"mismatches", mismatches}});
  } else {
    std::cout << "summary: " << cases.size() << " cases, " << cases.size() - mismatches << " as expected, "
              << mismatches << " mismatches\n";
  }
  return mismatches == 0 ? kExitFine : kExitCheckFailed;
}

}  // namespace

Command add_check(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app = program.add_subcommand("check", "Phase-one cases in the strict domain: status and workspace");
  app->add_option("cases", options->cases, "CASES.json")->required();
  app->add_flag("--message", options->message, "append a tab and the message to each line");
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
