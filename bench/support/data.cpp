#include "bench/support/data.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "mla_prolog/convert.hpp"
#include "runtime/problem/scenario.hpp"
#include "tools/run/machine.hpp"

namespace mla_prolog::bench {
namespace {

bool is_weight(TensorId id) {
  switch (id) {
    case TensorId::weight_dq:
    case TensorId::weight_uq_qr:
    case TensorId::weight_uk:
    case TensorId::weight_dkv_kr:
    case TensorId::dequant_scale_w_dq:
    case TensorId::dequant_scale_w_uq_qr:
    case TensorId::dequant_scale_w_dkv_kr:
      return true;
    default:
      return false;
  }
}

// The pattern that fills a tensor, of at most `bytes` bytes; its length is odd so that rows differ.
std::vector<std::byte> pattern(DType dtype, TensorId id, std::size_t bytes) {
  constexpr std::size_t kElements = 65521;
  const std::size_t count = std::min(kElements, bytes / element_size(dtype));
  std::vector<std::byte> codes(count * element_size(dtype));
  std::mt19937 random(static_cast<std::uint32_t>(id) + 1);
  if (dtype == DType::int8) {
    for (std::byte& code : codes) code = static_cast<std::byte>(random());
    return codes;
  }
  if (dtype == DType::float8_e8m0) {
    for (std::byte& code : codes) code = static_cast<std::byte>(120 + random() % 8);
    return codes;
  }
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) {
    v = dtype == DType::float32 ? 0.001F + 0.01F * std::abs(normal(random)) : normal(random);
    if (is_weight(id) && dtype == DType::bf16) v *= 0.03F;
  }
  if (!encode(dtype, values.data(), count, codes.data())) throw std::logic_error("no values of this type");
  return codes;
}

}  // namespace

Problem problem_of(std::string_view scenario, std::int64_t tokens, const Dims& dims) {
  const bool shaped = scenario.size() == 5 && scenario[0] == 'w' && scenario.substr(2, 2) == "kv";
  if (!shaped || find_scenario(scenario[1] - '0', scenario[4] - '0') == nullptr) {
    throw std::invalid_argument("no scenario: " + std::string(scenario));
  }
  ProblemConfig config;
  config.he = dims.he;
  config.hcq = dims.hcq;
  config.n = dims.n;
  config.d = dims.d;
  config.tokens = tokens;
  config.weight_quant_mode = scenario[1] - '0';
  config.kv_cache_quant_mode = scenario[4] - '0';
  config.block_num = (tokens + config.block_size - 1) / config.block_size;
  return describe(config);
}

void fill(const TensorDesc& desc, TensorId id, std::byte* values) {
  const std::size_t bytes = desc.extent_bytes();
  if (is_output(id) || is_cache(id)) {
    std::memset(values, 0, bytes);
    return;
  }
  if (id == TensorId::cache_index) {
    auto* slots = reinterpret_cast<std::int64_t*>(values);
    for (std::int64_t i = 0; i < desc.numel(); ++i) slots[i] = i;
    return;
  }
  const std::vector<std::byte> once = pattern(desc.dtype, id, bytes);
  for (std::size_t at = 0; at < bytes; at += once.size()) {
    std::memcpy(values + at, once.data(), std::min(once.size(), bytes - at));
  }
}

ColdWeights::ColdWeights(const Problem& problem, int least) {
  std::size_t bytes = 0;
  for (const TensorId id : all_tensors()) {
    if (!is_weight(id) || problem[id].numel() == 0) continue;
    places_.push_back({id, bytes});
    bytes += (problem[id].extent_bytes() + 63) / 64 * 64;
  }
  constexpr std::size_t kMostBytes = std::size_t{3} << 30;
  const std::size_t beyond_cache = 2 * tools::last_level_cache_bytes() / bytes + 2;
  const std::size_t count = std::max(static_cast<std::size_t>(least), std::min(beyond_cache, kMostBytes / bytes));
  for (std::size_t i = 0; i < count; ++i) {
    Memory copy(bytes);
    for (const Place& place : places_) {
      if (i == 0) {
        fill(problem[place.id], place.id, copy.data() + place.offset);
      } else {
        std::memcpy(copy.data() + place.offset, copies_[0].data() + place.offset, problem[place.id].extent_bytes());
      }
    }
    copies_.push_back(std::move(copy));
  }
}

void ColdWeights::set(Tensors& tensors, std::size_t copy) const {
  for (const Place& place : places_) tensors.set(place.id, copies_[copy].data() + place.offset);
}

TokenData::TokenData(const Problem& problem) {
  for (const TensorId id : all_tensors()) {
    if (is_weight(id) || problem[id].numel() == 0) continue;
    Memory memory(problem[id].extent_bytes());
    fill(problem[id], id, memory.data());
    tensors_.set(id, memory.data());
    memory_.push_back(std::move(memory));
  }
}

}  // namespace mla_prolog::bench
