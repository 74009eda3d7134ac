// What every command shares: how it is added to the program, engine options, errors, progress.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "tools/io/error.hpp"

namespace mla_prolog::tools {

inline constexpr int kExitFine = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitUnreadable = 2;

/// A subcommand and what it does when it was chosen. `execute` returns the exit code, or throws UsageError or
/// InputError.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> execute;
};

Command add_run(CLI::App& program);
Command add_verify(CLI::App& program);
Command add_check(CLI::App& program);
Command add_compare(CLI::App& program);
Command add_convert(CLI::App& program);
Command add_explain(CLI::App& program);
Command add_info(CLI::App& program);
Command add_repro(CLI::App& program);

/// --isa, --backend, --threads as typed.
struct EngineOptions {
  std::string isa = "auto";
  std::string backend = "auto";
  int threads = 0;
};
void add_engine_options(CLI::App& app, EngineOptions& options);
/// --threads: more than a plan takes become the most that it does, with a note on stderr.
void add_threads_option(CLI::App& app, int& threads);

/// Throws UsageError for what is unknown, or not to be had on this CPU or in this build, saying what there is.
PlanOptions plan_options(const EngineOptions& options);

/// Plans, or throws: UsageError when an engine is not to be had, InputError naming `file` when the problem is refused.
Plan plan_or_throw(const Problem& problem, const PlanOptions& options, const std::string& file);

/// `--json`.
void add_json_option(CLI::App& app, bool& json);
void print_json(const nlohmann::ordered_json& document);

/// One `ERROR <what>: <cause>` line on stderr.
void print_error(const std::string& text);

/// Errors of single files, where the other files are still to be done.
class ErrorList {
 public:
  void add(const InputError& error);
  bool empty() const noexcept { return errors_.empty(); }
  std::size_t size() const noexcept { return errors_.size(); }
  nlohmann::ordered_json json() const;

 private:
  std::vector<InputError> errors_;
};

/// Shows what is going on in one line of stderr, if that is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace mla_prolog::tools
