#include "bench/suite/suite.hpp"
#include "bench/support/memory.hpp"
#include "bench/support/roofs.hpp"
#include "bench/support/subject.hpp"
#include "tools/run/machine.hpp"

namespace mla_prolog::bench {
namespace {

// The measurements time themselves: the counter is their result.
void read(benchmark::State& state, std::size_t bytes, int threads) {
  const Memory memory(bytes);
  std::fill_n(memory.data(), bytes, std::byte{1});
  double sum = 0;
  for (auto _ : state) sum += measure_read_bytes(memory.bytes(), threads);
  state.counters["GB/s"] = benchmark::Counter(sum / 1e9, benchmark::Counter::kAvgIterations);
}

template <typename Measure>
void ops(benchmark::State& state, Measure&& measure) {
  double sum = 0;
  for (auto _ : state) sum += measure();
  state.counters["GOP/s"] = benchmark::Counter(sum / 1e9, benchmark::Counter::kAvgIterations);
}

}  // namespace

void register_roofs() {
  const std::size_t cold = std::max<std::size_t>(std::size_t{128} << 20, 4 * tools::last_level_cache_bytes());
  for (const int threads : thread_counts()) {
    const std::string count = std::to_string(threads);
    for (const auto& [name, bytes] :
         {std::pair<const char*, std::size_t>{"cold", cold}, {"resident", std::size_t{256} << 10}}) {
      benchmark::RegisterBenchmark(joined({"roof/read", name, count}).c_str(),
                                   [=, bytes = bytes](benchmark::State& state) { read(state, bytes, threads); });
    }
    for (const Isa isa : runnable_isas()) {
      const std::string set(to_string(isa));
      benchmark::RegisterBenchmark(joined({"roof/multiply_add", set, count}).c_str(), [=](benchmark::State& state) {
        ops(state, [=] { return measure_float_ops(isa, threads); });
      });
      benchmark::RegisterBenchmark(joined({"roof/int8_dot", set, count}).c_str(), [=](benchmark::State& state) {
        ops(state, [=] { return measure_int8_ops(isa, threads); });
      });
      for (const std::int64_t tokens : {1, 8, 64}) {
        for (const auto& [name, operand] : {std::pair{"e4m3", Operand::e4m3}, {"hif8", Operand::hif8}}) {
          benchmark::RegisterBenchmark(joined({"roof/decode", name, "T" + std::to_string(tokens), set, count}).c_str(),
                                       [=, operand = operand](benchmark::State& state) {
                                         ops(state, [=] { return measure_decoded_ops(isa, threads, operand, tokens); });
                                       });
        }
      }
    }
  }
}

}  // namespace mla_prolog::bench
