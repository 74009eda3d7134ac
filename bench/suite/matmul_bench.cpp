#include "bench/suite/matmul.hpp"
#include "bench/suite/suite.hpp"
#include "kernels/dispatch/isa_registry.hpp"

namespace mla_prolog::bench {
namespace {

using kernels::GemmType;

struct Case {
  const kernels::KernelSet* set;
  GemmType type;
  WeightShape shape;
  std::int64_t tokens;
  Path path;
  int threads;

  std::string name() const {
    return joined({"matmul", shape.name, name_of(type), "T" + std::to_string(tokens),
                   path == Path::packed ? "packed" : "in_place", set->name, std::to_string(threads)});
  }
};

void multiply(benchmark::State& state, const Case& c) {
  Matmul matmul(*c.set->gemm, c.type, c.shape, c.tokens, c.path, c.threads);
  for (auto _ : state) {
    matmul.run();
    benchmark::ClobberMemory();
  }
  const bool is_int = c.type == GemmType::int8;
  count(state, {matmul.weight_bytes(), is_int ? 0 : matmul.ops(), is_int ? matmul.ops() : 0},
        machine_roofs(c.set->isa, c.threads));
}

void register_case(const Case& c) {
  benchmark::RegisterBenchmark(c.name().c_str(), [c](benchmark::State& state) { multiply(state, c); })->UseRealTime();
}

}  // namespace

void register_matmuls() {
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm == nullptr || !kernels::unavailable_reason(set, kernels::cpu_features()).empty()) continue;
    for (const WeightShape& shape : {kWeightDq, kWeightDkvKr, kWeightUqQr, kWeightUk}) {
      for (const GemmType type : {GemmType::bf16, GemmType::int8, GemmType::e4m3, GemmType::hif8, GemmType::mx}) {
        if (shape.heads > 0 && type != GemmType::bf16) continue;
        for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 240}) {
          for (const Path path : {Path::in_place, Path::packed}) {
            for (const int threads : thread_counts()) register_case({&set, type, shape, tokens, path, threads});
          }
        }
      }
    }
  }
}

}  // namespace mla_prolog::bench
