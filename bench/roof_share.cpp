// The whole operator against the machine's limits: share of roof = ideal time / time, for scenarios and token counts,
// with the weights cold (copies in rotation) and the roofs measured between the runs, so that a drifting machine does
// not decide.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/roofs.hpp"
#include "mla_prolog/plan.hpp"
#include "mla_prolog/system.hpp"
#include "runtime/plan/plan_data.hpp"
#include "test/scheduler/operator_data.hpp"

namespace {

using namespace mla_prolog;
using mla_prolog::test::Buffer;
using mla_prolog::test::OperatorData;

struct Options {
  std::vector<std::string> scenarios{"w0kv0", "w1kv0", "w2kv1"};
  std::vector<std::int64_t> tokens{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<Isa> isas{Isa::automatic};
  int threads = 0;
  int repeats = 7;
  int copies = 3;
  bench::Clock clock = bench::Clock::wall;
  bool verbose = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (name == "--cpu-time") {
      options.clock = bench::Clock::cpu;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (name == "--scenarios") {
      options.scenarios = split(value);
    } else if (name == "--tokens") {
      options.tokens.clear();
      for (const auto& t : split(value)) options.tokens.push_back(std::atoll(t.c_str()));
    } else if (name == "--isa") {
      options.isas.clear();
      for (const auto& t : split(value)) options.isas.push_back(parse<Isa>(t).value_or(Isa::automatic));
    } else if (name == "--threads") {
      options.threads = std::atoi(value.c_str());
    } else if (name == "--repeats") {
      options.repeats = std::atoi(value.c_str());
    } else {
      std::fprintf(stderr,
                   "roof_share [--scenarios w0kv0,...] [--tokens 1,8,...] [--isa auto,...] [--threads N] "
                   "[--repeats N] [--cpu-time] [--verbose]\n");
      std::exit(2);
    }
  }
  return options;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Options& options, const std::string& scenario, std::int64_t tokens, Isa isa,
             bench::ColdMemory& memory) {
  ProblemConfig config;
  config.tokens = tokens;
  config.weight_quant_mode = scenario[1] - '0';
  config.kv_cache_quant_mode = scenario[4] - '0';
  config.block_num = tokens / 128 + 2;
  const Problem problem = describe(config);
  PlanOptions plan_options;
  plan_options.isa = isa;
  plan_options.threads = options.threads;
  const auto plan = make_plan(problem, plan_options);
  if (!plan.ok()) {
    std::printf("%s T %lld: %s\n", scenario.c_str(), static_cast<long long>(tokens), plan.error().message.c_str());
    return;
  }
  if (options.verbose) std::printf("%s", plan->describe().c_str());
  OperatorData data(problem, 1, false);
  // Copies of the weights, so that each run finds them cold.
  std::vector<std::vector<Buffer>> copies;
  std::vector<Tensors> tensors;
  for (int i = 0; i < options.copies; ++i) {
    Tensors own = data.tensors();
    std::vector<Buffer> buffers;
    for (const TensorId id :
         {TensorId::weight_dq, TensorId::weight_uq_qr, TensorId::weight_uk, TensorId::weight_dkv_kr}) {
      Buffer copy(data.buffer(id).size());
      std::memcpy(copy.data(), data.buffer(id).data(), copy.size());
      own.set(id, copy.data());
      buffers.push_back(std::move(copy));
    }
    copies.push_back(std::move(buffers));
    tensors.push_back(own);
  }
  Buffer workspace(plan->workspace_bytes());
  const int threads = plan->threads();
  const bench::Work work = bench::work_of(plan->data().layer);
  std::vector<double> seconds;
  std::vector<double> shares;
  for (int i = 0; i < options.repeats + 1; ++i) {
    bench::Roofs roofs;
    roofs.float_ops = bench::measure_float_ops(plan->isa(), threads, options.clock);
    roofs.int8_ops = bench::measure_int8_ops(plan->isa(), threads, options.clock);
    roofs.read_bytes = static_cast<double>(memory.bytes()) / bench::seconds_to_read(memory, threads, options.clock);
    const double start = bench::now(options.clock, threads);
    const Status status =
        run(*plan, tensors[static_cast<std::size_t>(i) % tensors.size()], workspace.data(), workspace.size());
    const double elapsed = bench::now(options.clock, threads) - start;
    if (!status.ok()) std::exit(1);
    if (i == 0) continue;
    seconds.push_back(elapsed);
    shares.push_back(work.ideal_seconds(roofs) / elapsed);
    if (i == options.repeats) {
      std::printf(
          "%-6s T %5lld %-12s %d thr  median %9.3f ms  min %9.3f ms  share median %5.2f best %5.2f   (last roofs: "
          "%5.1f GB/s %6.1f GFLOP/s %6.1f GOP/s)\n",
          scenario.c_str(), static_cast<long long>(tokens), std::string(to_string(plan->isa())).c_str(), threads,
          median(seconds) * 1e3, *std::min_element(seconds.begin(), seconds.end()) * 1e3, median(shares),
          *std::max_element(shares.begin(), shares.end()), roofs.read_bytes / 1e9, roofs.float_ops / 1e9,
          roofs.int8_ops / 1e9);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  bench::ColdMemory memory(120u << 20, 2);
  for (const Isa isa : options.isas) {
    for (const std::string& scenario : options.scenarios) {
      for (const std::int64_t tokens : options.tokens) measure(options, scenario, tokens, isa, memory);
    }
  }
  return 0;
}
