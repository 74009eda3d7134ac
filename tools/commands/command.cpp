#include "tools/commands/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>

#include "mla_prolog/system.hpp"

namespace mla_prolog::tools {
namespace {

// The most that a plan takes.
constexpr int kMostThreads = 1024;

std::string available_isas() {
  std::string text = "auto";
  for (const IsaInfo& info : list_isas()) {
    if (info.available) text += " " + std::string(to_string(info.isa));
  }
  return text;
}

std::string available_backends() {
  std::string text = "auto";
  for (const BackendInfo& info : list_backends()) {
    if (info.available) text += " " + std::string(to_string(info.backend));
  }
  return text;
}

std::string unavailable_text(std::string_view reason) {
  return reason.empty() ? "is not available here" : "is not available here (" + std::string(reason) + ")";
}

}  // namespace

void add_engine_options(CLI::App& app, EngineOptions& options) {
  app.add_option("--isa", options.isa,
                 "auto scalar sse4.2 avx2 avx512 avx512-vnni neon neon-dotprod; scalar is the reference")
      ->capture_default_str();
  app.add_option("--backend", options.backend, "auto reference cpu onednn ascend")->capture_default_str();
  add_threads_option(app, options.threads);
}

void add_threads_option(CLI::App& app, int& threads) {
  const auto take = [&threads](int wanted) {
    threads = std::min(wanted, kMostThreads);
    if (threads != wanted) std::cerr << "note: --threads " << wanted << ": runs with " << threads << ", the most\n";
  };
  app.add_option_function<int>("--threads", take, "threads (default: all of the affinity mask)")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
}

PlanOptions plan_options(const EngineOptions& options) {
  PlanOptions plan;
  plan.threads = options.threads;
  const auto isa = parse<Isa>(options.isa);
  if (!isa) throw UsageError("--isa " + options.isa + ": is unknown; there is: " + available_isas());
  for (const IsaInfo& info : list_isas()) {
    if (info.isa == *isa && !info.available) {
      throw UsageError("--isa " + options.isa + ": " + unavailable_text(info.reason) +
                       "; there is: " + available_isas());
    }
  }
  plan.isa = *isa;
  const auto backend = parse<Backend>(options.backend);
  if (!backend) {
    throw UsageError("--backend " + options.backend + ": is unknown; there is: " + available_backends());
  }
  for (const BackendInfo& info : list_backends()) {
    if (info.backend == *backend && !info.available) {
      throw UsageError("--backend " + options.backend + ": " + unavailable_text(info.reason) +
                       "; there is: " + available_backends());
    }
  }
  plan.backend = *backend;
  return plan;
}

Plan plan_or_throw(const Problem& problem, const PlanOptions& options, const std::string& file) {
  Result<Plan> plan = make_plan(problem, options);
  if (plan.ok()) return std::move(plan).value();
  if (plan.error().status.rule == Rule::option_unavailable) {
    throw UsageError(plan.error().message + "; there is: --isa " + available_isas() + ", --backend " +
                     available_backends());
  }
  throw InputError(file, plan.error().message);
}

void add_json_option(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "one JSON document on stdout instead of text");
}

void print_json(const nlohmann::ordered_json& document) {
  // Paths may hold bytes that are no UTF-8.
  std::cout << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_error(const std::string& text) { std::cerr << "ERROR " << text << std::endl; }

void ErrorList::add(const InputError& error) {
  print_error(error.what());
  errors_.push_back(error);
}

nlohmann::ordered_json ErrorList::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const InputError& error : errors_) list.push_back({{"file", error.file()}, {"cause", error.cause()}});
  return list;
}

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", one_line(text).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace mla_prolog::tools
