#include "tools/commands/explain_report.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace mla_prolog::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

template <typename... Values>
void print_line(const char* format, Values... values) {
  char line[240];
  std::snprintf(line, sizeof line, format, values...);
  std::cout << line << '\n';
}

std::string times_text(std::int64_t tokens, std::int64_t columns, std::int64_t k) {
  return std::to_string(tokens) + " x " + std::to_string(columns) + " x " + std::to_string(k);
}

std::string count_text(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string range_text(const char* what, std::int64_t first, std::int64_t count) {
  std::string text = std::string(" ") + what + " " + std::to_string(first);
  if (count > 1) text += "-" + std::to_string(first + count - 1);
  return text;
}

std::string tile_text(const StageSummary& stage, const WorkRange& range) {
  std::string text = range_text(stage.name.starts_with("B ") ? "rows" : "tokens", range.first_token, range.tokens);
  if (stage.block.columns > 1) {
    text += range_text(stage.name.starts_with("C+D") ? "heads" : "columns", range.first_column, range.columns);
  }
  if (stage.block.k > 1) text += range_text("k", range.first_k, range.k);
  return text;
}

void print_stages(const ExplainReport& report) {
  const Explanation& explanation = report.explanation;
  std::vector<double> measured;
  if (report.measured) measured = busiest_seconds(explanation, report.measured->tiles);
  print_line("  %-28s %20s %16s %10s %10s %12s%s", "stage", "tokens x columns x k", "unit", "MACs", "bytes",
             "expected us", measured.empty() ? "" : "  measured us");
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) {
    const StageSummary& stage = explanation.stages[i];
    char actual[32] = "";
    if (!measured.empty()) std::snprintf(actual, sizeof actual, " %12.1f", measured[i] * kMicroseconds);
    print_line("  %-28s %20s %16s %10.3g %10.3g %12.1f%s", stage.name.c_str(),
               times_text(stage.block.tokens, stage.block.columns, stage.block.k).c_str(),
               times_text(stage.unit.tokens, stage.unit.columns, stage.unit.k).c_str(), stage.macs, stage.weight_bytes,
               stage.busiest_seconds() * kMicroseconds, actual);
  }
  print_line("  barriers %.1f us; critical path %.1f us, %.3f of the ideal %.1f us",
             explanation.barrier_seconds * kMicroseconds, explanation.expected_seconds * kMicroseconds,
             explanation.expected_seconds / explanation.ideal_seconds, explanation.ideal_seconds * kMicroseconds);
}

// Which tiles a thread has: of each stage the first, and how many more.
void print_thread(const Explanation& explanation, int thread) {
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) {
    const TileTimes* first = nullptr;
    int more = -1;
    for (const TileTimes& tile : explanation.tiles) {
      if (tile.stage != i || tile.thread != thread) continue;
      if (first == nullptr) first = &tile;
      ++more;
    }
    const StageSummary& stage = explanation.stages[i];
    std::string text = first == nullptr ? " nothing" : tile_text(stage, first->range);
    if (more > 0) text += ", " + count_text(more, "more tile");
    print_line("    thread %-4d %-28s%s", thread, stage.name.c_str(), text.c_str());
  }
}

// Who runs what. Threads between the first and the last have the like.
void print_threads(const Explanation& explanation) {
  constexpr int kAll = 4;
  std::cout << "  who runs what\n";
  for (int thread = 0; thread < explanation.threads; ++thread) {
    if (explanation.threads > kAll && thread == 1) {
      std::cout << "    ...\n";
      thread = explanation.threads - 1;
    }
    print_thread(explanation, thread);
  }
}

// What multiplies in the stages that do.
void print_engines(const Explanation& explanation) {
  std::cout << "  engines\n";
  for (const StageSummary& stage : explanation.stages) {
    if (!stage.engine.empty()) print_line("    %-28s %s", stage.name.c_str(), stage.engine.c_str());
  }
}

void print_simulation(const Explanation& explanation) {
  std::cout << "  expected of each thread, us: busy (waiting)\n";
  for (int thread = 0; thread < explanation.threads; ++thread) {
    double busy = 0;
    for (const StageSummary& stage : explanation.stages) busy += stage.thread_seconds[static_cast<std::size_t>(thread)];
    print_line("    thread %-4d %10.1f (%.1f)", thread, busy * kMicroseconds,
               (explanation.expected_seconds - busy) * kMicroseconds);
  }
}

Json range_json(const WorkRange& range) {
  return {{"tokens", range.tokens}, {"columns", range.columns}, {"k", range.k}};
}

Json tiles_json(const std::vector<TileTimes>& tiles) {
  Json list = Json::array();
  for (const TileTimes& tile : tiles) {
    const WorkRange& range = tile.range;
    list.push_back({{"stage", tile.stage},
                    {"thread", tile.thread},
                    {"block", tile.block},
                    {"first_token", range.first_token},
                    {"tokens", range.tokens},
                    {"first_column", range.first_column},
                    {"columns", range.columns},
                    {"first_k", range.first_k},
                    {"k", range.k},
                    {"begin_seconds", tile.begin_seconds},
                    {"end_seconds", tile.end_seconds}});
  }
  return list;
}

}  // namespace

void print_explanation(const ExplainReport& report, bool simulate) {
  const Plan& plan = report.plan;
  const Explanation& explanation = report.explanation;
  std::cout << "\nscenario " << report.scenario.text() << ": profile " << to_string(plan.profile()) << ", isa "
            << to_string(plan.isa()) << ", engines " << to_string(plan.backend()) << ", numerics "
            << to_string(report.numerics) << ", threads " << plan.threads() << ", workspace " << plan.workspace_bytes()
            << " bytes\n";
  if (explanation.stages.empty()) {
    std::cout << "  no schedule: " << (plan.workspace_bytes() == 0 ? "nothing to compute" : "token by token") << '\n';
  } else {
    std::cout << "  " << count_text(explanation.crews, "crew") << " of "
              << count_text(explanation.crew_threads, "thread") << ", " << count_text(explanation.blocks, "block")
              << " of up to " << count_text(explanation.block_tokens, "token") << '\n';
    print_stages(report);
    print_engines(explanation);
    print_threads(explanation);
    if (simulate) print_simulation(explanation);
  }
  if (report.measured) print_line("  measured %.1f us", report.measured->seconds * kMicroseconds);
}

Json explanation_json(const ExplainReport& report) {
  const Explanation& explanation = report.explanation;
  std::vector<double> measured;
  if (report.measured) measured = busiest_seconds(explanation, report.measured->tiles);
  Json stages = Json::array();
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) {
    const StageSummary& stage = explanation.stages[i];
    stages.push_back({{"name", stage.name},
                      {"engine", stage.engine.empty() ? Json(nullptr) : Json(stage.engine)},
                      {"block", range_json(stage.block)},
                      {"unit", range_json(stage.unit)},
                      {"macs", stage.macs},
                      {"weight_bytes", stage.weight_bytes},
                      {"compute_seconds", stage.compute_seconds},
                      {"memory_seconds", stage.memory_seconds},
                      {"expected_seconds", stage.busiest_seconds()},
                      {"thread_seconds", stage.thread_seconds},
                      {"measured_seconds", measured.empty() ? Json(nullptr) : Json(measured[i])}});
  }
  return {{"scenario", report.scenario.text()},
          {"profile", to_string(report.plan.profile())},
          {"isa", to_string(report.plan.isa())},
          {"engines", to_string(report.plan.backend())},
          {"numerics", to_string(report.numerics)},
          {"threads", report.plan.threads()},
          {"workspace_bytes", report.plan.workspace_bytes()},
          {"crews", explanation.crews},
          {"crew_threads", explanation.crew_threads},
          {"blocks", explanation.blocks},
          {"block_tokens", explanation.block_tokens},
          {"stages", std::move(stages)},
          {"barrier_seconds", explanation.barrier_seconds},
          {"expected_seconds", explanation.expected_seconds},
          {"ideal_seconds", explanation.ideal_seconds},
          {"measured_seconds", report.measured ? Json(report.measured->seconds) : Json(nullptr)},
          {"tiles", tiles_json(report.measured ? report.measured->tiles : explanation.tiles)}};
}

}  // namespace mla_prolog::tools
