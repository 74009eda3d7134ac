#include "tools/run/trace.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {

using Json = nlohmann::ordered_json;

void write_trace(const std::string& path, const Explanation& explanation, const std::vector<TileTimes>& tiles) {
  Json events = Json::array();
  for (int thread = 0; thread < explanation.threads; ++thread) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", thread},
                      {"args", {{"name", "thread " + std::to_string(thread)}}}});
  }
  constexpr double kMicroseconds = 1e6;
  for (const TileTimes& tile : tiles) {
    const WorkRange& range = tile.range;
    const StageSummary& stage = explanation.stages[tile.stage];
    events.push_back({{"name", stage.name},
                      {"cat", "tile"},
                      {"ph", "X"},
                      {"ts", tile.begin_seconds * kMicroseconds},
                      {"dur", (tile.end_seconds - tile.begin_seconds) * kMicroseconds},
                      {"pid", 1},
                      {"tid", tile.thread},
                      {"args",
                       {{"block", tile.block},
                        {"first_token", range.first_token},
                        {"tokens", range.tokens},
                        {"first_column", range.first_column},
                        {"columns", range.columns},
                        {"first_k", range.first_k},
                        {"k", range.k}}}});
    if (!stage.engine.empty()) events.back()["args"]["engine"] = stage.engine;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump() << '\n';
  file.close();
  if (!file) throw InputError(path, "cannot write");
}

}  // namespace mla_prolog::tools
