// Google Benchmark over all that the operator is made of:
//
//   roof/...                                what the machine can do
//   row/KERNEL/LENGTH/ISA                   row kernels, resident in cache
//   block/BLOCK                             public building blocks, resident in cache
//   tile/TYPE/T/ISA                         register tiles of the in-place kernels, resident in cache
//   matmul/WEIGHT/TYPE/T/PATH/ISA/THREADS   each weight's matmul, weights cold
//   stage/STAGE/SCENARIO/T/ISA/THREADS      a stage's matmuls and rows
//   operator/SCENARIO/T/ISA/ENGINE/THREADS  the whole, weights cold
//
// bench_suite --benchmark_filter=... --benchmark_out=FILE --benchmark_out_format=json. Shares are of roofs measured
// once, before the first benchmark that needs them: where the machine drifts, bench_operator is the better witness.
#include "bench/suite/suite.hpp"

#include <algorithm>
#include <map>

#include "bench/support/memory.hpp"
#include "bench/support/roofs.hpp"
#include "mla_prolog/system.hpp"
#include "tools/run/machine.hpp"

namespace mla_prolog::bench {

const MachineRoofs& machine_roofs(Isa isa, int threads) {
  static std::map<std::pair<Isa, int>, MachineRoofs> known;
  const auto [place, is_new] = known.try_emplace({isa, threads});
  if (!is_new) return place->second;
  const Memory memory(std::max<std::size_t>(std::size_t{128} << 20, 4 * tools::last_level_cache_bytes()));
  std::fill_n(memory.data(), memory.size(), std::byte{1});
  MachineRoofs& roofs = place->second;
  for (int i = 0; i < 5; ++i) {
    roofs.read_bytes = std::max(roofs.read_bytes, measure_read_bytes(memory.bytes(), threads));
    roofs.float_ops = std::max(roofs.float_ops, measure_float_ops(isa, threads));
    roofs.int8_ops = std::max(roofs.int8_ops, measure_int8_ops(isa, threads));
  }
  return roofs;
}

void count(benchmark::State& state, const Counted& work, const MachineRoofs& roofs) {
  using benchmark::Counter;
  const auto rate = [](double per_iteration) {
    return Counter(per_iteration / 1e9, Counter::kIsIterationInvariantRate);
  };
  if (work.bytes > 0) state.counters["GB/s"] = rate(work.bytes);
  if (work.float_ops > 0) state.counters["GFLOP/s"] = rate(work.float_ops);
  if (work.int8_ops > 0) state.counters["GOP/s"] = rate(work.int8_ops);
  const double ideal =
      std::max(work.bytes / roofs.read_bytes, work.float_ops / roofs.float_ops + work.int8_ops / roofs.int8_ops);
  state.counters["share_of_roof"] = Counter(ideal, Counter::kIsIterationInvariantRate);
}

std::vector<int> thread_counts() {
  const int all = default_threads();
  return all == 1 ? std::vector<int>{1} : std::vector<int>{1, all};
}

std::string joined(std::initializer_list<std::string> parts) {
  std::string name;
  for (const std::string& part : parts) name += (name.empty() ? "" : "/") + part;
  return name;
}

}  // namespace mla_prolog::bench

int main(int argc, char** argv) {
  using namespace mla_prolog;
  bench::register_roofs();
  bench::register_rows();
  bench::register_blocks();
  bench::register_tiles();
  bench::register_matmuls();
  bench::register_stages();
  bench::register_operator();
  benchmark::AddCustomContext("cpu", tools::cpu_name());
  benchmark::AddCustomContext("mla_prolog", version());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
