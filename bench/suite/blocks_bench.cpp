// The public building blocks (mla_prolog/blocks.hpp) at the operator's shapes for 64 tokens, resident in cache. They
// run on the set that is dispatched to (MLA_PROLOG_ISA forces another). Counters: bytes read and written per second.
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bench/suite/suite.hpp"
#include "mla_prolog/blocks.hpp"

namespace mla_prolog::bench {
namespace {

constexpr std::int64_t kTokens = 64;
constexpr std::int64_t kHcq = 1536;
constexpr std::int64_t kHckv = 512;
constexpr std::int64_t kHeads = 128;
constexpr std::int64_t kDr = 64;

// Dense tensors that live as long as the benchmark. Every byte is 0x3C: about 1/87 as bf16 and float32, 1.5 as E4M3.
class Tensors {
 public:
  TensorView operator()(DType dtype, std::initializer_list<std::int64_t> shape) {
    const TensorDesc desc = TensorDesc::dense(dtype, shape);
    bytes += static_cast<double>(desc.extent_bytes());
    memory_.emplace_back((desc.extent_bytes() + 7) / 8, 0x3C3C3C3C3C3C3C3C);
    return {desc, memory_.back().data()};
  }
  double bytes = 0;

 private:
  std::vector<std::vector<std::uint64_t>> memory_;
};

using Call = std::function<Status()>;

struct Block {
  const char* name;
  std::function<Call(Tensors&)> prepare;
};

Call per_token(Tensors& t, DType codes) {
  const ConstTensorView x = t(DType::bf16, {kTokens, kHcq});
  const TensorView y = t(codes, {kTokens, kHcq});
  const TensorView scale = t(DType::float32, {kTokens, 1});
  return [=] { return quantize_per_token(x, {}, Profile::a2, y, scale); };
}

Call scatter(Tensors& t) {
  const ConstTensorView rows = t(DType::bf16, {kTokens, kHckv});
  const TensorView cache = t(DType::bf16, {4, 128, 1, kHckv});
  CacheAddressing addressing;
  addressing.tokens = kTokens;
  const TensorView slots = t(DType::int64, {kTokens});
  std::iota(static_cast<std::int64_t*>(slots.data), static_cast<std::int64_t*>(slots.data) + kTokens, 100);
  addressing.cache_index = slots;
  t.bytes = 2 * static_cast<double>(rows.desc.extent_bytes());
  auto scratch = std::make_shared<std::vector<std::uint64_t>>(cache_scatter_scratch_bytes(kTokens) / 8 + 1);
  return [=] { return cache_scatter(rows, addressing, cache, scratch->data(), scratch->size() * 8); };
}

const Block kBlocks[] = {
    {"rms_norm",
     [](Tensors& t) -> Call {
       const ConstTensorView v = t(DType::float32, {kTokens, kHcq});
       const ConstTensorView gamma = t(DType::bf16, {kHcq});
       const TensorView y = t(DType::bf16, {kTokens, kHcq});
       return [=] { return rms_norm(v, gamma, 1e-5F, 1.0F, y); };
     }},
    {"rope",
     [](Tensors& t) -> Call {
       const ConstTensorView x = t(DType::bf16, {kTokens, kHeads, kDr});
       const ConstTensorView sin = t(DType::bf16, {kTokens, kDr});
       const ConstTensorView cos = t(DType::bf16, {kTokens, kDr});
       const TensorView y = t(DType::bf16, {kTokens, kHeads, kDr});
       return [=] { return rope(x, sin, cos, y); };
     }},
    {"quantize_per_token/int8", [](Tensors& t) { return per_token(t, DType::int8); }},
    {"quantize_per_token/float8_e4m3fn", [](Tensors& t) { return per_token(t, DType::float8_e4m3fn); }},
    {"quantize_per_token/hifloat8", [](Tensors& t) { return per_token(t, DType::hifloat8); }},
    {"quantize_mx",
     [](Tensors& t) -> Call {
       const ConstTensorView x = t(DType::bf16, {kTokens, kHcq});
       const TensorView codes = t(DType::float8_e4m3fn, {kTokens, kHcq});
       const TensorView scale = t(DType::float8_e8m0, {kTokens, kHcq / 32});
       return [=] { return quantize_mx(x, codes, scale); };
     }},
    {"quantize_per_tile",
     [](Tensors& t) -> Call {
       const ConstTensorView c = t(DType::float32, {kTokens, kHckv});
       const TensorView codes = t(DType::int8, {kTokens, kHckv});
       const TensorView scale = t(DType::float32, {kTokens, 4});
       return [=] { return quantize_per_tile(c, 1.0F, codes, scale); };
     }},
    {"quantize_weight",
     [](Tensors& t) -> Call {
       const ConstTensorView w = t(DType::bf16, {kHcq, kHckv});
       const TensorView codes = t(DType::int8, {kHcq, kHckv});
       const TensorView scale = t(DType::float32, {1, kHckv});
       return [=] { return quantize_weight(w, codes, scale); };
     }},
    {"quantize_weight_mx",
     [](Tensors& t) -> Call {
       const ConstTensorView w = t(DType::bf16, {kHcq, kHckv});
       const TensorView codes = t(DType::float8_e4m3fn, {kHcq, kHckv});
       const TensorView scale = t(DType::float8_e8m0, {kHckv, kHcq / 32});
       return [=] { return quantize_weight_mx(w, codes, scale); };
     }},
    {"cache_scatter", scatter},
};

void measure(benchmark::State& state, const Block& block) {
  Tensors tensors;
  const Call call = block.prepare(tensors);
  for (auto _ : state) {
    if (const Status status = call(); !status.ok()) {
      state.SkipWithError(message(status).c_str());
      break;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations()) * tensors.bytes));
}

}  // namespace

void register_blocks() {
  for (const Block& block : kBlocks) {
    benchmark::RegisterBenchmark(joined({"block", block.name}).c_str(),
                                 [&block](benchmark::State& state) { measure(state, block); });
  }
}

}  // namespace mla_prolog::bench
