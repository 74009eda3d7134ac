// Row kernels of every set that this machine runs, at the operator's row lengths, resident in cache. Counters: bytes
// read and written per second, elements per second.
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/suite/suite.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "kernels/row_kernels.hpp"

namespace mla_prolog::bench {
namespace {

using kernels::bf16_t;
using kernels::QuantKind;
using kernels::RowKernels;

constexpr std::int64_t kLongest = 1536;

// One row of everything a kernel may want.
struct Rows {
  std::vector<float> x, y, channel;
  std::vector<std::int32_t> sums;
  std::vector<bf16_t> codes16, gamma;
  std::vector<std::uint8_t> codes8, scales8;
  float scale = 0.0F;

  Rows()
      : x(kLongest),
        y(kLongest),
        channel(kLongest),
        sums(kLongest),
        codes16(kLongest),
        gamma(kLongest),
        codes8(kLongest),
        scales8(kLongest / 32) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = normal(random);
      channel[i] = 1.0F + 0.01F * normal(random);
      sums[i] = static_cast<std::int32_t>(random()) >> 8;
      codes16[i] = static_cast<bf16_t>(0x3F00 + random() % 256);
      gamma[i] = static_cast<bf16_t>(0x3F00 + random() % 256);
    }
  }
};

struct Kernel {
  std::string name;
  std::int64_t n;
  std::int64_t bytes_per_element;  // read once and written once
  std::function<void(const RowKernels&, Rows&, std::int64_t)> call;
};

Kernel dynamic(const std::string& name, QuantKind kind, std::int64_t n) {
  return {"dynamic_quant_" + name, n, 5, [kind](const RowKernels& k, Rows& r, std::int64_t length) {
            k.dynamic_quant(kind, r.x.data(), nullptr, length, r.codes8.data(), &r.scale);
          }};
}

Kernel dynamic_bf16(const std::string& name, QuantKind kind) {
  return {"dynamic_quant_bf16_" + name, 512, 3, [kind](const RowKernels& k, Rows& r, std::int64_t length) {
            k.dynamic_quant_bf16(kind, r.codes16.data(), length, r.codes8.data(), &r.scale);
          }};
}

Kernel fixed(const std::string& name, QuantKind kind) {
  return {"static_quant_" + name, 512, 5, [kind](const RowKernels& k, Rows& r, std::int64_t length) {
            k.static_quant(kind, r.x.data(), r.channel.data(), 0, length, r.codes8.data());
          }};
}

Kernel tile(const std::string& name, QuantKind kind) {
  return {"tile_quant_" + name, 128, 5, [kind](const RowKernels& k, Rows& r, std::int64_t) {
            k.tile_quant(kind, r.x.data(), 0.9F, r.codes8.data(), &r.scale);
          }};
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> list;
  for (const std::int64_t n : {512, 1536}) {
    list.push_back({"rms_norm", n, 10, [](const RowKernels& k, Rows& r, std::int64_t length) {
                      k.rms_norm(r.x.data(), length, 1.0F / static_cast<float>(length), 1e-5F, r.gamma.data(), 1.0F,
                                 false, r.y.data());
                    }});
    list.push_back(dynamic("int8_a2", QuantKind::int8_a2, n));
    list.push_back(dynamic("int8_a2_query", QuantKind::int8_a2_query, n));
    list.push_back(dynamic("int8_950", QuantKind::int8_950, n));
    list.push_back(dynamic("e4m3", QuantKind::e4m3, n));
    list.push_back(dynamic("hif8", QuantKind::hif8, n));
  }
  list.push_back(dynamic_bf16("int8_a2_query", QuantKind::int8_a2_query));
  list.push_back(dynamic_bf16("int8_950", QuantKind::int8_950));
  list.push_back(dynamic_bf16("e4m3", QuantKind::e4m3));
  list.push_back(dynamic_bf16("hif8", QuantKind::hif8));
  list.push_back({"mx_quant", 1536, 5, [](const RowKernels& k, Rows& r, std::int64_t length) {
                    k.mx_quant(r.x.data(), length, r.codes8.data(), r.scales8.data());
                  }});
  list.push_back(fixed("int8", QuantKind::int8_a2));
  list.push_back(fixed("e4m3", QuantKind::e4m3));
  list.push_back(fixed("hif8", QuantKind::hif8));
  list.push_back(tile("int8", QuantKind::int8_a2));
  list.push_back(tile("e4m3", QuantKind::e4m3));
  list.push_back(tile("hif8", QuantKind::hif8));
  list.push_back({"dequant_int32", 192, 12, [](const RowKernels& k, Rows& r, std::int64_t length) {
                    k.dequant_int32(r.sums.data(), length, 0.01F, r.channel.data(), true, r.y.data());
                  }});
  list.push_back({"dequant_float32", 192, 12, [](const RowKernels& k, Rows& r, std::int64_t length) {
                    k.dequant_float32(r.x.data(), length, 0.01F, r.channel.data(), false, r.y.data());
                  }});
  list.push_back({"rope", 64, 10, [](const RowKernels& k, Rows& r, std::int64_t) {
                    k.rope(r.x.data(), r.gamma.data(), r.gamma.data() + 64, r.codes16.data());
                  }});
  list.push_back({"scale_bf16", 64, 4, [](const RowKernels& k, Rows& r, std::int64_t length) {
                    k.scale_bf16(r.codes16.data(), length, 1.0F);
                  }});
  for (const std::int64_t n : {128, 512}) {
    list.push_back({"round_to_bf16", n, 6, [](const RowKernels& k, Rows& r, std::int64_t length) {
                      k.round_to_bf16(r.x.data(), length, r.codes16.data());
                    }});
  }
  list.push_back({"widen_bf16", 512, 6, [](const RowKernels& k, Rows& r, std::int64_t length) {
                    k.widen_bf16(r.codes16.data(), length, r.y.data());
                  }});
  return list;
}

void measure(benchmark::State& state, const Kernel& kernel, const RowKernels& rows) {
  Rows data;
  for (auto _ : state) {
    kernel.call(rows, data, kernel.n);
    benchmark::ClobberMemory();
  }
  const std::int64_t elements = static_cast<std::int64_t>(state.iterations()) * kernel.n;
  state.SetBytesProcessed(elements * kernel.bytes_per_element);
  state.SetItemsProcessed(elements);
}

}  // namespace

void register_rows() {
  for (const Kernel& kernel : all_kernels()) {
    for (const kernels::KernelSet& set : kernels::kernel_sets()) {
      if (!kernels::unavailable_reason(set, kernels::cpu_features()).empty()) continue;
      benchmark::RegisterBenchmark(joined({"row", kernel.name, std::to_string(kernel.n), set.name}).c_str(),
                                   [kernel, &set](benchmark::State& state) { measure(state, kernel, *set.rows); });
    }
  }
}

}  // namespace mla_prolog::bench
