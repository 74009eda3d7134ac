// The stages of docs/scheduler.md one by one: A and C, D as their matmuls (columns divided among the threads, the
// packed left operand made by each), B and the rows of C, D as the row steps alone. What a stage costs inside the fused
// schedule is what `mla-prolog` reports of a run.
#include <vector>

#include "bench/suite/matmul.hpp"
#include "bench/suite/suite.hpp"
#include "bench/support/data.hpp"
#include "bench/support/row_steps.hpp"
#include "bench/support/subject.hpp"
#include "runtime/backend/cpu/matmul.hpp"

namespace mla_prolog::bench {
namespace {

using cpu::gemm_type;

constexpr const char* kScenarios[] = {"w0kv0", "w1kv0", "w2kv1", "w3kv1", "w4kv1", "w5kv1"};

void run_matmuls(benchmark::State& state, const kernels::KernelSet& set, Operand operand,
                 std::initializer_list<WeightShape> shapes, std::int64_t tokens, int threads) {
  std::vector<Matmul> matmuls;
  Counted work;
  for (const WeightShape& shape : shapes) {
    matmuls.emplace_back(*set.gemm, gemm_type(operand), shape, tokens, Path::as_measured, threads);
    work.bytes += matmuls.back().weight_bytes();
    (operand == Operand::int8 ? work.int8_ops : work.float_ops) += matmuls.back().ops();
  }
  for (auto _ : state) {
    for (Matmul& matmul : matmuls) matmul.run();
  }
  count(state, work, machine_roofs(set.isa, threads));
}

void run_rows(benchmark::State& state, const kernels::KernelSet& set, const std::string& scenario, std::int64_t tokens,
              int threads, void (RowSteps::*steps)() const) {
  const Problem problem = problem_of(scenario, tokens, {});
  Result<Layer> layer = resolve_layer(problem, Domain::relaxed, Soc::automatic, Profile::automatic);
  const ColdWeights weights(problem_of(scenario, 1, {}), 1);
  const TokenData data(problem);
  Tensors tensors = data.tensors();
  weights.set(tensors);
  const RowSteps rows(*layer, set, threads, tensors);
  for (auto _ : state) (rows.*steps)();
  state.SetItemsProcessed(state.iterations() * tokens);
}

// The operands of a scenario's weights.
struct Operands {
  Operand x, cq;
};
Operands operands_of(const char* scenario) {
  Result<Layer> layer = resolve_layer(problem_of(scenario, 1, {}), Domain::relaxed, Soc::automatic, Profile::automatic);
  return {layer->x_operand, layer->cq_operand};
}

}  // namespace

void register_stages() {
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime();
  };
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm == nullptr || !kernels::unavailable_reason(set, kernels::cpu_features()).empty()) continue;
    for (const char* scenario : kScenarios) {
      const Operands operands = operands_of(scenario);
      for (const std::int64_t tokens : {1, 8, 64, 240}) {
        for (const int threads : thread_counts()) {
          const std::string rest = joined({scenario, "T" + std::to_string(tokens), set.name, std::to_string(threads)});
          add("stage/A/" + rest, [=, &set](benchmark::State& state) {
            run_matmuls(state, set, operands.x, {kWeightDq, kWeightDkvKr}, tokens, threads);
          });
          add("stage/B/" + rest, [=, &set](benchmark::State& state) {
            run_rows(state, set, scenario, tokens, threads, &RowSteps::finish_rows);
          });
          add("stage/C/" + rest, [=, &set](benchmark::State& state) {
            run_matmuls(state, set, operands.cq, {kWeightUqQr}, tokens, threads);
          });
          add("stage/D/" + rest, [=, &set](benchmark::State& state) {
            run_matmuls(state, set, Operand::bf16, {kWeightUk}, tokens, threads);
          });
          add("stage/CD_rows/" + rest, [=, &set](benchmark::State& state) {
            run_rows(state, set, scenario, tokens, threads, &RowSteps::finish_heads);
          });
        }
      }
    }
  }
}

}  // namespace mla_prolog::bench
