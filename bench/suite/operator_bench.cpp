#include <exception>
#include <memory>

#include "bench/suite/suite.hpp"
#include "bench/support/roofs.hpp"
#include "bench/support/subject.hpp"

namespace mla_prolog::bench {
namespace {

constexpr const char* kScenarios[] = {"w0kv0", "w1kv0", "w1kv2", "w1kv3", "w2kv0", "w2kv1", "w2kv3", "w3kv0",
                                      "w3kv1", "w3kv3", "w4kv0", "w4kv1", "w4kv3", "w5kv0", "w5kv1", "w5kv3"};

// Benchmarks of one scenario follow one another and share the weights.
ColdWeights& weights_of(const std::string& scenario) {
  static std::string last;
  static std::unique_ptr<ColdWeights> weights;
  if (last != scenario) {
    weights.reset();
    weights = std::make_unique<ColdWeights>(problem_of(scenario, 1, {}));
    last = scenario;
  }
  return *weights;
}

void call(benchmark::State& state, const std::string& scenario, std::int64_t tokens, const PlanOptions& options) {
  try {
    Subject subject(problem_of(scenario, tokens, {}), options, weights_of(scenario));
    for (auto _ : state) subject.run();
    const Work work = work_of(subject.layer());
    // 8-bit floats are multiplied as float32.
    count(state, {work.weight_bytes, work.float_ops + work.decoded_ops, work.int8_ops},
          machine_roofs(options.isa, subject.plan().threads()));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace

void register_operator() {
  for (const char* scenario : kScenarios) {
    for (const Isa isa : runnable_isas()) {
      for (const Backend engine : runnable_engines()) {
        for (const int threads : thread_counts()) {
          for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
            const std::string name =
                joined({"operator", scenario, "T" + std::to_string(tokens), std::string(to_string(isa)),
                        engine_name(engine), std::to_string(threads)});
            const PlanOptions options{.backend = engine, .isa = isa, .threads = threads};
            benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
              call(state, scenario, tokens, options);
            })->UseRealTime();
          }
        }
      }
    }
  }
}

}  // namespace mla_prolog::bench
