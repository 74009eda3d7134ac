// The whole operator against the machine's limits: for each scenario, number of tokens, instruction set, engine and
// number of threads the median time, the roof's time and share = roof time / time. Each round measures the roofs, then
// a call with cold weights, then the row steps alone, so that a drifting machine meets all of them alike; a share is
// formed within its round, and the medians are over rounds.
//
//   bench_operator --scenarios w0kv0,w2kv1 --tokens 1,64 --isa avx2 --json out.json
//   bench_operator --serve      answers lines "SCENARIO TOKENS ISA THREADS [strict|fast]" with the seconds of one cold
//   call
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "bench/operator/cell.hpp"
#include "bench/operator/serve.hpp"
#include "bench/support/header.hpp"
#include "bench/support/subject.hpp"
#include "mla_prolog/system.hpp"

namespace {

using namespace mla_prolog;

struct Options {
  std::vector<std::string> scenarios{"w0kv0", "w1kv0", "w2kv1", "w3kv1", "w4kv1", "w5kv1"};
  std::vector<std::int64_t> tokens{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<std::string> isas{"auto"};
  std::vector<std::string> engines;
  std::vector<int> threads{0};
  bench::Dims dims;
  bench::Effort effort;
  std::string json;
  bool serve = false;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--scenarios", options.scenarios, "w<weight mode>kv<cache mode>")->delimiter(',');
  app.add_option("--tokens", options.tokens, "numbers of tokens")->delimiter(',');
  app.add_option("--isa", options.isas, "instruction sets, or `all` that this machine runs")->delimiter(',');
  app.add_option("--engines", options.engines, "native, onednn; default: what is built in")->delimiter(',');
  app.add_option("--threads", options.threads, "numbers of threads; 0: all")->delimiter(',');
  app.add_option("--rounds", options.effort.rounds, "most rounds of a cell");
  app.add_option("--seconds", options.effort.seconds, "a cell ends after this time, but not before three rounds");
  app.add_option("--he", options.dims.he);
  app.add_option("--hcq", options.dims.hcq);
  app.add_option("--heads", options.dims.n);
  app.add_option("--nope-dim", options.dims.d);
  app.add_option("--json", options.json, "write the report here; `-`: to stdout, instead of the table");
  app.add_flag("--serve", options.serve, "time calls on request");
}

std::vector<Isa> isas_of(const Options& options) {
  if (options.isas == std::vector<std::string>{"all"}) return bench::runnable_isas();
  std::vector<Isa> isas;
  for (const std::string& name : options.isas) {
    const auto isa = parse<Isa>(name);
    if (!isa) throw std::invalid_argument("--isa: no instruction set " + name);
    isas.push_back(*isa);
  }
  return isas;
}

std::vector<Backend> engines_of(const Options& options) {
  if (options.engines.empty()) return bench::runnable_engines();
  std::vector<Backend> engines;
  for (const std::string& name : options.engines) {
    const auto engine = bench::parse_engine(name);
    if (!engine) throw std::invalid_argument("--engines: no engine " + name);
    engines.push_back(*engine);
  }
  return engines;
}

nlohmann::ordered_json measure_all(const Options& options) {
  nlohmann::ordered_json report = bench::report_header("bench_operator");
  report["dims"] = {
      {"he", options.dims.he}, {"hcq", options.dims.hcq}, {"heads", options.dims.n}, {"nope_dim", options.dims.d}};
  auto cells = nlohmann::ordered_json::array();
  auto left_out = nlohmann::ordered_json::array();
  const bool table = options.json != "-";
  if (table) std::printf("%s\n", bench::table_head().c_str());
  for (const std::string& scenario : options.scenarios) {
    bench::ColdWeights weights(bench::problem_of(scenario, 1, options.dims));
    for (const Isa isa : isas_of(options)) {
      for (const Backend engine : engines_of(options)) {
        for (const int threads : options.threads) {
          for (const std::int64_t tokens : options.tokens) {
            const PlanOptions plan{.backend = engine, .isa = isa, .threads = threads};
            try {
              bench::Subject subject(bench::problem_of(scenario, tokens, options.dims), plan, weights);
              const bench::Cell cell = bench::measure_cell(subject, weights, scenario, options.effort);
              cells.push_back(bench::to_json(cell));
              if (!table) continue;
              std::printf("%s\n", bench::table_line(cell).c_str());
              std::fflush(stdout);
            } catch (const std::runtime_error& refusal) {
              // An engine need not take every case: the rest goes on, and the report says so.
              const std::string what = scenario + " T " + std::to_string(tokens) + " " + std::string(to_string(isa)) +
                                       " " + bench::engine_name(engine) + ": " + refusal.what();
              left_out.push_back(what);
              std::fprintf(stderr, "left out: %s\n", what.c_str());
            }
          }
        }
      }
    }
  }
  if (cells.empty()) throw std::runtime_error("nothing could be measured");
  report["cells"] = std::move(cells);
  report["left_out"] = std::move(left_out);
  return report;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Share of the roof of the whole operator");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  if (options.serve) return bench::serve(std::cin, std::cout, options.dims);
  const auto report = measure_all(options);
  if (options.json == "-") {
    std::cout << report.dump(1) << '\n';
  } else if (!options.json.empty()) {
    std::ofstream file(options.json);
    if (!(file << report.dump(1) << '\n')) throw std::runtime_error("cannot write " + options.json);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "ERROR %s\n", error.what());
  return 2;
}
