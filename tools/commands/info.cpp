// info: this build, this machine, and what a plan would choose on it.
#include <iostream>
#include <memory>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/system.hpp"
#include "tools/commands/command.hpp"
#include "tools/run/machine.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  bool json = false;
};

// What the default options come to, asked of a plan rather than guessed.
struct Choice {
  std::string isa;
  std::string backend;
  int threads = 0;
  std::string refusal;
};

Choice default_choice() {
  ProblemConfig config;
  config.tokens = 1;
  config.block_num = 1;
  const Result<Plan> plan = make_plan(describe(config));
  if (!plan.ok()) return {"none", "none", default_threads(), plan.error().message};
  return {std::string(to_string(plan->isa())), std::string(to_string(plan->backend())), plan->threads(), {}};
}

void print_list_line(std::string_view kind, std::string_view name, bool available, const std::string& reason) {
  std::cout << "  " << kind << ' ' << name << ": " << (available ? "yes" : "no");
  if (!reason.empty()) std::cout << " (" << reason << ')';
  std::cout << '\n';
}

std::string engine_text(const MatmulEngineInfo& engine) {
  std::string text = "  engine " + engine.name + ": ";
  text += engine.available ? "yes, numerics " + std::string(to_string(engine.numerics)) : "no";
  if (engine.available) return text + " (" + engine.implementation + ")";
  return text + " (" + engine.reason + ")";
}

nlohmann::ordered_json list_entry(std::string_view name, bool available, const std::string& reason) {
  return {{"name", name}, {"available", available}, {"reason", reason}};
}

void print_text(const Choice& choice, const std::vector<int>& cpus) {
  std::cout << "mla-prolog " << version() << '\n';
  std::cout << "cpu: " << cpu_name() << '\n';
  std::cout << "huge pages: " << (huge_pages().empty() ? "unknown" : huge_pages()) << '\n';
  std::cout << "instruction sets:\n";
  for (const IsaInfo& info : list_isas()) print_list_line("isa", to_string(info.isa), info.available, info.reason);
  std::cout << "chosen isa: " << choice.isa << '\n';
  std::cout << "threads: " << choice.threads << '\n';
  std::cout << "affinity: " << (cpus.empty() ? "unknown" : ranges_text(cpus)) << '\n';
  std::cout << "backends:\n";
  for (const BackendInfo& info : list_backends()) {
    print_list_line("backend", to_string(info.backend), info.available, info.reason);
  }
  std::cout << "matmul engines beside the native kernels:\n";
  for (const MatmulEngineInfo& engine : list_matmul_engines()) std::cout << engine_text(engine) << '\n';
  std::cout << "chosen backend: " << choice.backend << '\n';
  if (!choice.refusal.empty()) std::cout << "no plan with default options: " << choice.refusal << '\n';
}

void print_document(const Choice& choice, const std::vector<int>& cpus) {
  auto isas = nlohmann::ordered_json::array();
  for (const IsaInfo& info : list_isas()) isas.push_back(list_entry(to_string(info.isa), info.available, info.reason));
  auto backends = nlohmann::ordered_json::array();
  for (const BackendInfo& info : list_backends()) {
    backends.push_back(list_entry(to_string(info.backend), info.available, info.reason));
  }
  auto engines = nlohmann::ordered_json::array();
  for (const MatmulEngineInfo& info : list_matmul_engines()) {
    engines.push_back(list_entry(info.name, info.available, info.reason));
    engines.back()["numerics"] = to_string(info.numerics);
    engines.back()["implementation"] = info.implementation;
  }
  print_json({{"command", "info"},
              {"version", version()},
              {"cpu", cpu_name()},
              {"huge_pages", huge_pages()},
              {"isas", std::move(isas)},
              {"chosen_isa", choice.isa},
              {"threads", choice.threads},
              {"affinity", cpus},
              {"backends", std::move(backends)},
              {"engines", std::move(engines)},
              {"chosen_backend", choice.backend},
              {"refusal", choice.refusal}});
}

int execute(const Options& options) {
  const Choice choice = default_choice();
  const std::vector<int> cpus = affinity();
  if (options.json) {
    print_document(choice, cpus);
  } else {
    print_text(choice, cpus);
  }
  return kExitFine;
}

}  // namespace

Command add_info(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app = program.add_subcommand("info", "What this build and this machine offer");
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
