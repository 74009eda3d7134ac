// The matmul kernels on the operator's shapes: every instruction set, operand type, count of tokens, in place and
// packed. The weights of few tokens come from memory (copies in rotation), those of many from the caches.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/dispatch/isa_registry.hpp"
#include "kernels/gemm/gemm_kernels.hpp"
#include "test/scheduler/operator_data.hpp"

namespace {

using namespace mla_prolog;
using namespace mla_prolog::kernels;
using mla_prolog::test::Buffer;

constexpr std::int64_t kK = 1536;
constexpr std::int64_t kColumns = 1536;
constexpr std::size_t kColdBytes = 160u << 20;

struct Shape {
  GemmType type;
  std::int64_t tokens;
  bool packed;
};

Buffer filled(std::size_t bytes, int value) {
  Buffer buffer(bytes);
  std::memset(buffer.data(), value, bytes);
  return buffer;
}

void multiply(benchmark::State& state, const GemmFunctions& gemm, const Shape& shape) {
  const bool is_int = shape.type == GemmType::int8;
  const std::int64_t element_bytes = shape.type == GemmType::bf16 ? 2 : 1;
  const std::int64_t panel_columns = 32 / element_bytes;
  const std::int64_t chunk = is_int ? kK : kGemmChunk;
  const std::int64_t most = shape.packed ? gemm.packed_group : gemm.in_place_group;
  const std::int64_t groups = (shape.tokens + most - 1) / most;
  const std::int64_t group = shape.packed ? most : (shape.tokens + groups - 1) / groups;

  const auto weight_bytes = static_cast<std::size_t>(kK * kColumns * element_bytes);
  const std::size_t copies = shape.tokens <= 16 ? kColdBytes / weight_bytes : 1;
  const Buffer weights = filled(weight_bytes * copies, 0x11);
  const Buffer rows = filled(static_cast<std::size_t>(shape.tokens * kK * element_bytes), 0x3C);
  const Buffer scales = filled(static_cast<std::size_t>(std::max(shape.tokens, kColumns) * kK / 32), 127);
  Buffer x(gemm.x_bytes(shape.tokens, chunk) + 64);
  Buffer scratch(gemm.scratch_bytes(chunk));
  Buffer c(static_cast<std::size_t>(shape.tokens * kColumns) * 4);
  const auto* scale_bytes = reinterpret_cast<const std::uint8_t*>(scales.data());
  gemm.pack_x({.rows = rows.data(),
               .row_stride = kK,
               .scales = scale_bytes,
               .scale_stride = kK / 32,
               .tokens = shape.tokens,
               .k = chunk,
               .group = group,
               .packed = x.data()});
  const std::int64_t step = shape.packed ? 192 : gemm.in_place_columns(group);
  std::size_t copy = 0;
  for (auto _ : state) {
    const auto* weight = reinterpret_cast<const std::uint8_t*>(weights.data()) + copy * weight_bytes;
    copy = (copy + 1) % copies;
    for (std::int64_t n = 0; n < kColumns; n += step) {
      for (std::int64_t k = 0; k < kK; k += chunk) {
        GemmArgs args;
        args.weight = weight + n / panel_columns * kK * 32 + k * 32;
        args.panel_stride = kK * 32;
        args.weight_scales = scale_bytes;
        args.weight_scale_stride = kK / 32;
        args.columns = std::min(step, kColumns - n);
        args.k = chunk;
        args.x = x.data();
        args.tokens = shape.tokens;
        args.group = group;
        args.c = c.data() + n * 4;
        args.ldc = kColumns;
        args.accumulate = k != 0;
        args.scratch = scratch.data();
        (shape.packed ? gemm.packed : gemm.in_place)(args);
      }
    }
    benchmark::ClobberMemory();
  }
  const double iterations = static_cast<double>(state.iterations());
  const double ops = 2.0 * static_cast<double>(shape.tokens * kK * kColumns) * iterations;
  state.counters[is_int ? "OP/s" : "FLOP/s"] = benchmark::Counter(ops, benchmark::Counter::kIsRate);
  state.counters["weights B/s"] =
      benchmark::Counter(static_cast<double>(weight_bytes) * iterations, benchmark::Counter::kIsRate);
}

void register_all() {
  constexpr const char* kNames[] = {"bf16", "int8", "e4m3", "hif8", "mx"};
  for (const KernelSet& set : kernel_sets()) {
    if (set.gemm == nullptr || !unavailable_reason(set, cpu_features()).empty()) continue;
    for (std::size_t type = 0; type < kGemmTypes; ++type) {
      for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 240}) {
        for (const bool packed : {false, true}) {
          const Shape shape{static_cast<GemmType>(type), tokens, packed};
          const std::string name = std::string("gemm/") + set.name + "/" + kNames[type] + "/T" +
                                   std::to_string(tokens) + (packed ? "/packed" : "/in_place");
          const GemmFunctions& gemm = (*set.gemm)[shape.type];
          benchmark::RegisterBenchmark(name.c_str(),
                                       [&gemm, shape](benchmark::State& state) { multiply(state, gemm, shape); });
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
