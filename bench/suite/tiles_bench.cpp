// One call of the in-place kernels over one k chunk, its operands resident in cache: what the register tiles do when
// they do not wait for memory. One thread; the share is of the multiply-add (int8: dot product) peak, without decoding.
#include <algorithm>
#include <cstdint>

#include "bench/suite/matmul.hpp"
#include "bench/suite/suite.hpp"

namespace mla_prolog::bench {
namespace {

using kernels::GemmArgs;
using kernels::GemmFunctions;
using kernels::GemmType;
using kernels::GemmX;

void multiply(benchmark::State& state, const kernels::KernelSet& set, GemmType type, std::int64_t tokens) {
  const GemmFunctions& gemm = (*set.gemm)[type];
  const std::int64_t k = kernels::kGemmChunk;
  const std::int64_t blocks = k / 32;
  const std::int64_t columns = gemm.in_place_columns(tokens);
  const std::int64_t element_bytes = type == GemmType::bf16 ? 2 : 1;
  const auto filled = [](std::int64_t bytes, std::uint8_t value) {
    Memory memory(static_cast<std::size_t>(bytes));
    std::fill_n(memory.data(), memory.size(), std::byte{value});
    return memory;
  };
  constexpr std::uint8_t kCode = 0x3C;  // a finite number in every type
  constexpr std::uint8_t kOne = 127;    // as E8M0
  const Memory weight = filled(columns * k * element_bytes, kCode), weight_scales = filled(columns * blocks, kOne);
  const Memory rows = filled(tokens * k * element_bytes, kCode), scales = filled(tokens * blocks, kOne);
  const Memory left(gemm.x_bytes(tokens, k)), scratch(gemm.scratch_bytes(k));
  const Memory results(static_cast<std::size_t>(tokens * columns * 4));
  GemmX x;
  x.rows = rows.data();
  x.row_stride = k;
  x.scales = scales.as<std::uint8_t>();
  x.scale_stride = blocks;
  x.tokens = tokens;
  x.k = k;
  x.group = tokens;
  x.packed = left.data();
  gemm.pack_x(x);
  GemmArgs args;
  args.weight = weight.as<std::uint8_t>();
  args.panel_stride = k * kernels::kPanelBytes;
  args.weight_scales = weight_scales.as<std::uint8_t>();
  args.weight_scale_stride = blocks;
  args.columns = columns;
  args.k = k;
  args.x = left.data();
  args.tokens = tokens;
  args.group = tokens;
  args.c = results.data();
  args.ldc = columns;
  args.scratch = scratch.data();
  for (auto _ : state) {
    gemm.in_place(args);
    benchmark::ClobberMemory();
  }
  const double ops = 2.0 * static_cast<double>(tokens * columns * k);
  const bool is_int = type == GemmType::int8;
  count(state, {0, is_int ? 0 : ops, is_int ? ops : 0}, machine_roofs(set.isa, 1));
}

}  // namespace

void register_tiles() {
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm == nullptr || !kernels::unavailable_reason(set, kernels::cpu_features()).empty()) continue;
    for (const GemmType type : {GemmType::bf16, GemmType::int8, GemmType::e4m3, GemmType::hif8, GemmType::mx}) {
      for (std::int64_t tokens = 1; tokens <= (*set.gemm)[type].in_place_group; ++tokens) {
        benchmark::RegisterBenchmark(
            joined({"tile", name_of(type), "T" + std::to_string(tokens), set.name}).c_str(),
            [&set, type, tokens](benchmark::State& state) { multiply(state, set, type, tokens); });
      }
    }
  }
}

}  // namespace mla_prolog::bench
