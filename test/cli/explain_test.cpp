// explain and --trace: that they tell of every stage, and that tiles, threads and times belong together.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog::test;
using nlohmann::json;

namespace {

// A small layer: He 1088 (three chunks), Hcq 128, N 3, D 32.
std::vector<std::string> small(const std::string& command, std::vector<std::string> more) {
  std::vector<std::string> arguments{command, "--he",       "1088", "--hcq",   "128",  "--heads",
                                     "3",     "--nope-dim", "32",   "--quant", "w2kv1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Whether this machine has a set that follows a schedule.
bool scheduled() {
  const auto isas = mla_prolog::list_isas();
  return std::ranges::count_if(isas, [](const auto& info) { return info.available; }) > 1;
}

using Piece = std::tuple<std::string, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t>;

// Stage, thread, block and ranges of a tile.
Piece piece_of(const std::string& stage, const json& thread, const json& tile) {
  const auto number = [&](const char* key) { return tile[key].get<std::int64_t>(); };
  return {stage,
          thread.get<int>(),
          number("block"),
          number("first_token"),
          number("tokens"),
          number("first_column"),
          number("columns"),
          number("first_k"),
          number("k")};
}

std::multiset<Piece> pieces_of(const json& scenario) {
  std::multiset<Piece> pieces;
  for (const json& tile : scenario["tiles"]) {
    pieces.insert(piece_of(scenario["stages"][tile["stage"].get<std::size_t>()]["name"], tile["thread"], tile));
  }
  return pieces;
}

// What all tiles of a stage come to.
std::map<std::string, std::int64_t> volumes(const std::multiset<Piece>& pieces) {
  std::map<std::string, std::int64_t> result;
  for (const auto& [stage, thread, block, first_token, tokens, first_column, columns, first_k, k] : pieces) {
    result[stage] += tokens * columns * k;
  }
  return result;
}

// The slices of a trace; checks that those of a thread follow one another.
std::multiset<Piece> slices_of(const std::string& file) {
  const json trace = json::parse(read_file(file));
  std::multiset<Piece> slices;
  std::map<int, std::vector<std::pair<double, double>>> times;
  std::set<int> named;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      named.insert(event["tid"].get<int>());
      continue;
    }
    REQUIRE(event["ph"] == "X");
    const double begin = event["ts"];
    CHECK(begin >= 0);
    CHECK(event["dur"] >= 0);
    times[event["tid"]].emplace_back(begin, begin + event["dur"].get<double>());
    slices.insert(piece_of(event["name"], event["tid"], event["args"]));
  }
  for (auto& [thread, spans] : times) {
    CHECK(named.count(thread) == 1);
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].first >= spans[i - 1].second - 1e-3);
  }
  return slices;
}

// Stages of `small` by what they must come to for T tokens.
std::map<std::string, std::int64_t> fused_volumes(std::int64_t tokens) {
  return {{"A weight_dq, weight_dkv_kr", tokens * (128 + 576) * 1088},
          {"B rows of c^Q and c^KV", 2 * tokens},
          {"C+D heads", tokens * 3}};
}

void check_volumes(const std::multiset<Piece>& pieces, std::int64_t tokens) {
  const auto found = volumes(pieces);
  const bool split = found.count("C weight_uq_qr") == 1;
  for (const auto& [stage, volume] : fused_volumes(tokens)) {
    INFO(stage);
    if (split && stage == "C+D heads") continue;
    REQUIRE(found.count(stage) == 1);
    CHECK(found.at(stage) == volume);
  }
  if (!split) return;
  CHECK(found.at("C weight_uq_qr") == tokens * 3 * 96 * 128);
  CHECK(found.at("D weight_uk") == tokens * 3 * 512 * 32);
  CHECK(found.at("rows of q^C and q^R") == tokens * 3);
  CHECK(found.at("quantise q^N") == tokens * 3);
}

}  // namespace

TEST_CASE("explain shows stages, threads and times") {
  if (!scheduled()) MLA_PROLOG_SKIP("this CPU or build has the scalar set only");
  const CliResult result = cli(small("explain", {"--tokens", "5", "--threads", "2"}));
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  for (const std::string part :
       {"scenario w2kv1", "threads 2", "A weight_dq, weight_dkv_kr", "B rows of c^Q and c^KV", "weight_uk|heads",
        "barriers ", "critical path ", "of the ideal ", "who runs what", "thread 0 ", "thread 1 ", "expected us"}) {
    const auto bar = part.find('|');
    const bool found = result.out.find(part.substr(0, bar)) != std::string::npos ||
                       (bar != std::string::npos && result.out.find(part.substr(bar + 1)) != std::string::npos);
    INFO(part);
    CHECK(found);
  }
  CHECK(result.out.find("measured") == std::string::npos);
  const CliResult simulated = cli(small("explain", {"--threads", "5", "--simulate"}));
  CHECK(simulated.code == 0);
  CHECK(simulated.out.find("expected of each thread") != std::string::npos);
  CHECK(simulated.out.find("    thread 4 ") != std::string::npos);
  const CliResult measured = cli(small("explain", {"--threads", "2", "--measure", "--repeat", "1"}));
  CHECK(measured.code == 0);
  CHECK(measured.out.find("measured us") != std::string::npos);
}

TEST_CASE("explain --json accounts for all work") {
  if (!scheduled()) MLA_PROLOG_SKIP("this CPU or build has the scalar set only");
  for (const int threads : {1, 3, 16, 128}) {
    const CliResult result = cli(small("explain", {"--tokens", "5", "--threads", std::to_string(threads), "--json"}));
    REQUIRE(result.code == 0);
    const json document = result.json();
    CHECK(document["command"] == "explain");
    CHECK(document["dims"]["he"] == 1088);
    REQUIRE(document["scenarios"].size() == 1);
    const json& scenario = document["scenarios"][0];
    INFO(threads << " threads");
    CHECK(scenario["threads"] == threads);
    CHECK(scenario["crews"].get<int>() * scenario["crew_threads"].get<int>() == threads);
    CHECK(scenario["measured_seconds"].is_null());
    CHECK(scenario["expected_seconds"].get<double>() >= scenario["ideal_seconds"].get<double>());
    double macs = 0;
    for (const json& stage : scenario["stages"]) {
      macs += stage["macs"].get<double>();
      CHECK(stage["measured_seconds"].is_null());
      REQUIRE(stage["thread_seconds"].size() == static_cast<std::size_t>(threads));
      const auto busiest = std::ranges::max(stage["thread_seconds"].get<std::vector<double>>());
      CHECK(stage["expected_seconds"].get<double>() == busiest);
      CHECK(busiest <= scenario["expected_seconds"].get<double>());
    }
    CHECK(macs == 5.0 * (1088 * (128 + 576) + 128 * 3 * 96 + 3 * 32 * 512));
    check_volumes(pieces_of(scenario), 5);
  }
}

TEST_CASE("measured tiles are those of the plan") {
  if (!scheduled()) MLA_PROLOG_SKIP("this CPU or build has the scalar set only");
  if (mla_prolog::default_threads() == 1) MLA_PROLOG_SKIP("one thread, or built without OpenMP");
  for (const std::string threads : {"1", "2", "3"}) {
    const auto arguments = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"--tokens", "9", "--threads", threads, "--json"});
      return small("explain", more);
    };
    const json expected = cli(arguments({})).json()["scenarios"][0];
    const json measured = cli(arguments({"--measure", "--repeat", "2"})).json()["scenarios"][0];
    INFO(threads << " threads");
    CHECK(pieces_of(measured) == pieces_of(expected));
    const double seconds = measured["measured_seconds"];
    CHECK(seconds > 0);
    for (const json& stage : measured["stages"]) {
      CHECK(stage["measured_seconds"].get<double>() > 0);
      CHECK(stage["measured_seconds"].get<double>() <= seconds);
    }
    for (const json& tile : measured["tiles"]) CHECK(tile["end_seconds"].get<double>() <= seconds);
  }
}

TEST_CASE("a trace has a slice for each tile, and no two of a thread overlap") {
  if (!scheduled()) MLA_PROLOG_SKIP("this CPU or build has the scalar set only");
  if (mla_prolog::default_threads() == 1) MLA_PROLOG_SKIP("one thread, or built without OpenMP");
  const TempDir dir;
  const std::string file = dir / "trace.json";
  const std::vector<std::string> options{"--tokens", "7", "--threads", "3", "--trace", file, "--json"};
  const json expected = cli(small("explain", options)).json()["scenarios"][0];
  CHECK(slices_of(file) == pieces_of(expected));
  std::vector<std::string> measure = options;
  measure.insert(measure.end(), {"--measure", "--repeat", "1"});
  REQUIRE(cli(small("explain", measure)).code == 0);
  CHECK(slices_of(file) == pieces_of(expected));
  std::filesystem::remove(file);
  std::vector<std::string> run = options;
  run.insert(run.end(), {"--repeat", "1"});
  REQUIRE(cli(small("run", run)).code == 0);
  CHECK(slices_of(file) == pieces_of(expected));
  check_volumes(slices_of(file), 7);
}

TEST_CASE("tiles of oneDNN's matmuls are measured and traced, with the engine of each stage") {
  const TempDir dir;
  const std::string file = dir / "trace.json";
  const std::vector<std::string> options{"--tokens", "7",  "--threads", "2", "--backend", "onednn",
                                         "--trace",  file, "--repeat",  "1", "--json"};
  const CliResult planned = cli(small("explain", options));
  if (planned.code != 0) {
    CHECK(is_error_line(planned, "onednn"));
    MLA_PROLOG_SKIP("oneDNN's int8 is not to be had");
  }
  const json expected = planned.json()["scenarios"][0];
  bool any = false;
  for (const json& stage : expected["stages"]) {
    const bool multiplies = stage["weight_bytes"].get<double>() > 0;
    INFO(stage["name"]);
    REQUIRE(stage["engine"].is_string() == multiplies);
    any = any || (multiplies && stage["engine"].get<std::string>().find("oneDNN s8s8s32 ") != std::string::npos);
  }
  CHECK(any);
  std::vector<std::string> measure = options;
  measure.emplace_back("--measure");
  const CliResult measured = cli(small("explain", measure));
  REQUIRE(measured.code == 0);
  CHECK(pieces_of(measured.json()["scenarios"][0]) == pieces_of(expected));
  CHECK(slices_of(file) == pieces_of(expected));
  std::filesystem::remove(file);
  const CliResult run = cli(small("run", options));
  REQUIRE(run.code == 0);
  CHECK(run.json()["scenarios"][0]["engines"] == "onednn");
  CHECK(slices_of(file) == pieces_of(expected));
  CHECK(read_file(file).find("oneDNN s8s8s32 ") != std::string::npos);
  const CliResult text = cli(small("explain", {"--backend", "onednn", "--measure", "--repeat", "1"}));
  CHECK(text.code == 0);
  CHECK(text.out.find("oneDNN s8s8s32 ") != std::string::npos);
  CHECK(text.out.find("measured us") != std::string::npos);
}

TEST_CASE("explain without a schedule says so") {
  const CliResult scalar = cli(small("explain", {"--isa", "scalar", "--threads", "2", "--measure", "--repeat", "1"}));
  CHECK(scalar.code == 0);
  CHECK(scalar.out.find("no schedule: token by token") != std::string::npos);
  const CliResult nothing = cli(small("explain", {"--tokens", "0", "--json"}));
  CHECK(nothing.code == 0);
  CHECK(nothing.json()["scenarios"][0]["stages"].empty());
}

TEST_CASE("explain refuses what it cannot do") {
  CHECK(is_error_line(cli(small("explain", {"--simulate", "--measure"})), "--simulate: conflicts with --measure"));
  CHECK(is_error_line(cli({"explain", "--trace", "x"}), "--trace: holds one scenario"));
  CHECK(is_error_line(cli({"run", "--trace", "x"}), "--trace: holds one scenario"));
  CHECK(is_error_line(cli(small("explain", {"--threads", "0"})), "--threads"));
  const TempDir dir;
  const CliResult lost = cli(small("explain", {"--trace", dir / "no/such/folder/trace.json"}));
  CHECK(lost.code == 2);
  CHECK(is_error_line(lost, "cannot write"));
}
