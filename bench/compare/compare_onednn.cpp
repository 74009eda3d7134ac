// The operator against an unfused pipeline on oneDNN's matmuls, in one process, call by call in turn (A B A B), weights
// cold on both sides. Every variant of operand types that oneDNN has here runs; the ratio is the best one's median time
// over the operator's. The operator runs strict, and with numerics fast too where oneDNN multiplies bf16 for it: then
// both sides may use what sums in another order.
//
//   compare_onednn --tokens 1,64 --json out.json
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>

#include "bench/compare/onednn_pipeline.hpp"
#include "bench/support/clock.hpp"
#include "bench/support/header.hpp"
#include "bench/support/subject.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "mla_prolog/convert.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using namespace mla_prolog;
using Type = dnnl::memory::data_type;

struct Options {
  std::vector<std::string> scenarios{"w0kv0", "w2kv0"};
  std::vector<std::int64_t> tokens{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::string isa = "auto";
  int threads = 0;
  bench::Dims dims;
  int rounds = 15;
  double seconds = 1.0;
  std::string json;
};

std::vector<bench::PipelineTypes> variants_of(const std::string& scenario) {
  if (scenario == "w0kv0") return {{Type::bf16, Type::bf16}, {Type::f32, Type::f32}};
  if (scenario == "w2kv0") {
    return {{Type::s8, Type::f32}, {Type::s8, Type::bf16}, {Type::u8, Type::f32}, {Type::u8, Type::bf16}};
  }
  throw std::invalid_argument("--scenarios: w0kv0 and w2kv0 are compared, not " + scenario);
}

// What the weights of one variant need from one number of tokens to the next.
struct Variant {
  bench::PipelineTypes types;
  bench::PlainWeights plain;
  bench::PackedWeights packed;
};

// Root of the mean square of the difference over that of the operator's results.
double difference(const kernels::bf16_t* theirs, const void* ours, std::size_t count) {
  std::vector<float> a(count);
  std::vector<float> b(count);
  decode(DType::bf16, theirs, count, a.data());
  decode(DType::bf16, ours, count, b.data());
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    error += std::pow(double{a[i]} - double{b[i]}, 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(error / size);
}

struct Peer {
  const Variant* variant;
  bench::OnednnPipeline pipeline;
  std::vector<double> seconds;
};

// The operator with numerics fast, with the engines that are chosen then.
std::optional<bench::Subject> fast_subject(const Options& options, Isa isa, const std::string& scenario,
                                           std::int64_t tokens, bench::ColdWeights& weights) {
  const PlanOptions fast{
      .backend = Backend::automatic, .isa = isa, .numerics = Numerics::fast, .threads = options.threads};
  const Problem problem = bench::problem_of(scenario, tokens, options.dims);
  if (!make_plan(problem, fast).ok()) return std::nullopt;
  return std::optional<bench::Subject>(std::in_place, problem, fast, weights);
}

nlohmann::ordered_json compare(const Options& options, const std::string& scenario, std::int64_t tokens,
                               bench::ColdWeights& weights, std::vector<Variant>& variants) {
  const auto isa = parse<Isa>(options.isa);
  if (!isa) throw std::invalid_argument("--isa: no instruction set " + options.isa);
  bench::Subject ours(bench::problem_of(scenario, tokens, options.dims),
                      {.backend = Backend::cpu, .isa = *isa, .threads = options.threads}, weights);
  std::optional<bench::Subject> fast = fast_subject(options, *isa, scenario, tokens, weights);
  const auto set = kernels::choose_kernel_set(ours.plan().isa());
  std::vector<Peer> peers;
  for (Variant& variant : variants) {
    auto pipeline = bench::OnednnPipeline::make(ours.layer(), variant.types, *set.set->rows, ours.plan().threads(),
                                                ours.tensors(), variant.plain, variant.packed, weights.copies());
    if (pipeline) peers.push_back({&variant, std::move(*pipeline), {}});
  }
  std::vector<double> seconds;
  std::vector<double> fast_seconds;
  const double begin = bench::now();
  for (int round = -1; round < options.rounds; ++round) {  // the first is for both sides to settle
    if (round >= 3 && bench::now() - begin > options.seconds) break;
    const double own = ours.run();
    const double its_fast = fast ? fast->run() : 0;
    if (round >= 0) seconds.push_back(own);
    if (round >= 0 && fast) fast_seconds.push_back(its_fast);
    for (Peer& peer : peers) {
      const double its = peer.pipeline.run();
      if (round >= 0) peer.seconds.push_back(its);
    }
  }
  nlohmann::ordered_json cell;
  cell["scenario"] = scenario;
  cell["tokens"] = tokens;
  cell["isa"] = to_string(ours.plan().isa());
  cell["threads"] = ours.plan().threads();
  cell["rounds"] = seconds.size();
  cell["seconds"] = bench::median(seconds);
  cell["variants"] = nlohmann::ordered_json::array();
  double best = 0;
  for (const Peer& peer : peers) {
    const double its = bench::median(peer.seconds);
    const auto count = static_cast<std::size_t>(tokens * ours.layer().n * kHckv);
    cell["variants"].push_back(
        {{"types", peer.variant->types.name()},
         {"implementations", peer.pipeline.implementations()},
         {"seconds", its},
         {"relative_difference", difference(peer.pipeline.query(), ours.tensors().query, count)}});
    if (best == 0 || its < best) {
      best = its;
      cell["best"] = peer.variant->types.name();
    }
  }
  cell["ratio"] = best / bench::median(seconds);
  if (fast) {
    cell["fast_seconds"] = bench::median(fast_seconds);
    cell["fast_ratio"] = best / bench::median(fast_seconds);
  }
  return cell;
}

void print(const nlohmann::ordered_json& cell) {
  std::printf("%-6s T %5lld  operator %9.3f ms  oneDNN best %-8s ratio %5.2f |",
              cell["scenario"].get<std::string>().c_str(), cell["tokens"].get<long long>(),
              cell["seconds"].get<double>() * 1e3, cell.value("best", "none").c_str(), cell["ratio"].get<double>());
  if (cell.contains("fast_seconds")) {
    std::printf(" fast %.3f ms ratio %.2f |", cell["fast_seconds"].get<double>() * 1e3,
                cell["fast_ratio"].get<double>());
  }
  for (const auto& variant : cell["variants"]) {
    std::printf(" %s %.3f ms (differs by %.1e)", variant["types"].get<std::string>().c_str(),
                variant["seconds"].get<double>() * 1e3, variant["relative_difference"].get<double>());
  }
  std::printf("\n");
  std::fflush(stdout);
}

nlohmann::ordered_json compare_all(const Options& options) {
  nlohmann::ordered_json report = bench::report_header("compare_onednn");
  report["versions"]["onednn"] = bench::onednn_version();
  auto& cells = report["cells"] = nlohmann::ordered_json::array();
  for (const std::string& scenario : options.scenarios) {
    const auto types = variants_of(scenario);
    const Problem problem = bench::problem_of(scenario, 1, options.dims);
    bench::ColdWeights weights(problem);
    const bench::Subject sample(problem, {.backend = Backend::cpu}, weights);
    std::vector<Variant> variants;
    for (const bench::PipelineTypes& type : types) {
      variants.push_back({type, bench::plain_weights(problem, sample.layer(), sample.tensors(), type), {}});
    }
    for (const std::int64_t tokens : options.tokens) {
      cells.push_back(compare(options, scenario, tokens, weights, variants));
      if (options.json != "-") print(cells.back());
    }
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("The operator against an unfused oneDNN pipeline");
  Options options;
  app.add_option("--scenarios", options.scenarios)->delimiter(',');
  app.add_option("--tokens", options.tokens)->delimiter(',');
  app.add_option("--isa", options.isa, "of the operator; avx2 limits oneDNN, too");
  app.add_option("--threads", options.threads);
  app.add_option("--he", options.dims.he);
  app.add_option("--hcq", options.dims.hcq);
  app.add_option("--heads", options.dims.n);
  app.add_option("--nope-dim", options.dims.d);
  app.add_option("--rounds", options.rounds, "most rounds of a cell");
  app.add_option("--seconds", options.seconds, "a cell ends after this time, but not before three rounds");
  app.add_option("--json", options.json, "write the report here; `-`: to stdout, instead of the table");
  CLI11_PARSE(app, argc, argv);
  if (options.isa == "avx2") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
#if defined(_OPENMP)
  if (options.threads > 0) omp_set_num_threads(options.threads);
#endif
  const auto report = compare_all(options);
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
