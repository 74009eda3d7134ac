// The data of a case: values that are ordinary for each tensor, and the bad rows and elements of the wilder kinds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "mla_prolog/convert.hpp"
#include "test/support/case.hpp"

namespace mla_prolog::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

bool is_float8(DType dtype) { return dtype == DType::float8_e4m3fn || dtype == DType::hifloat8; }

bool is_finite_code(DType dtype, std::byte code) {
  float value = 0;
  return decode(dtype, &code, 1, &value) && std::isfinite(value);
}

std::byte any_byte(Rng& rng) { return static_cast<std::byte>(rng.next()); }

std::byte any_finite_code(Rng& rng, DType dtype) {
  std::byte code{};
  do {
    code = any_byte(rng);
  } while (!is_finite_code(dtype, code));
  return code;
}

float positive(Rng& rng, int low, int high) { return std::fabs(rng.float_of_exponent(low, high)); }

// An ordinary element of a float32 or bf16 tensor.
float ordinary_value(Rng& rng, TensorId id, const CaseSpec& spec) {
  switch (id) {
    case TensorId::token_x:
      return rng.chance(0.02) ? rng.float_of_exponent(3, 9) : rng.float_of_exponent(-6, 2);
    case TensorId::rmsnorm_gamma_cq:
    case TensorId::rmsnorm_gamma_ckv:
      return rng.float_of_exponent(-2, 1);
    case TensorId::rope_sin:
    case TensorId::rope_cos:
      return static_cast<float>(rng.real(-1, 1));
    case TensorId::quant_scale_ckv:
    case TensorId::quant_scale_ckr:
      return positive(rng, 0, 6);
    case TensorId::smooth_scales_cq:
      return positive(rng, -1, 1);
    case TensorId::k_nope_clip_alpha:
      return spec.k_nope_clip_alpha;
    case TensorId::weight_dq:
    case TensorId::weight_uq_qr:
    case TensorId::weight_uk:
    case TensorId::weight_dkv_kr:
      return rng.chance(0.01) ? rng.float_of_exponent(0, 4) : rng.float_of_exponent(-9, -1);
    default:  // dequantisation scales
      return positive(rng, -9, -3);
  }
}

// One that breaks arithmetic that is not careful.
float bad_value(Rng& rng, Values values) {
  const std::int64_t kind = rng.integer(0, values == Values::wild ? 8 : 4);
  switch (kind) {
    case 0:
      return kNan;
    case 1:
      return -kNan;
    case 2:
      return kInfinity;
    case 3:
      return -kInfinity;
    case 4:
      return rng.chance(0.5) ? 0.0F : -0.0F;
    case 5:
      return rng.float_of_exponent(120, 127);
    case 6:
      return rng.float_of_exponent(-126, -110);
    case 7:  // a subnormal of bf16 too
      return std::copysign(static_cast<float>(rng.integer(1, 127)) * 0x1p-133F, rng.chance(0.5) ? 1.0F : -1.0F);
    default:
      return rng.any_float();
  }
}

// Writes one element of any float or 8-bit dtype.
void put(DType dtype, std::byte* at, float value) { static_cast<void>(encode(dtype, &value, 1, at)); }

void fill_ordinary(Rng& rng, const Case& c, TensorId id) {
  const DType dtype = c.problem()[id].dtype;
  const std::size_t size = element_size(dtype);
  const auto memory = c.memory(id);
  for (std::size_t i = 0; i + size <= memory.size(); i += size) {
    std::byte* at = memory.data() + i;
    if (dtype == DType::int8 && c.spec().values == Values::saturating) {
      *at = static_cast<std::byte>(rng.pick({-128, -128, -127, 127, 127}));
    } else if (dtype == DType::int8) {
      *at = any_byte(rng);
    } else if (is_float8(dtype)) {
      *at = any_finite_code(rng, dtype);
    } else if (dtype == DType::float8_e8m0) {
      *at = static_cast<std::byte>(rng.integer(115, 131));
    } else {
      put(dtype, at, ordinary_value(rng, id, c.spec()));
    }
  }
}

void put_bad(Rng& rng, const Case& c, TensorId id, std::span<std::byte> row) {
  const DType dtype = c.problem()[id].dtype;
  const std::size_t size = element_size(dtype);
  if (row.empty()) return;
  std::byte* at =
      row.data() + static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(row.size() / size) - 1)) * size;
  if (dtype == DType::float8_e8m0) {
    *at = rng.pick({std::byte{0xFF}, std::byte{0x00}, std::byte{0xFE}});
    if (c.spec().values != Values::wild) *at = std::byte{0xFF};
  } else if (size == 1) {  // NaN and infinities are codes like others
    *at = dtype == DType::hifloat8 ? rng.pick({std::byte{0x80}, std::byte{0x6F}, std::byte{0xEF}})
                                   : rng.pick({std::byte{0x7F}, std::byte{0xFF}, std::byte{0x80}});
  } else {
    put(dtype, at, bad_value(rng, c.spec().values));
  }
}

void spoil_token(Rng& rng, const Case& c, std::int64_t t) {
  const auto x = c.token_row(TensorId::token_x, t);
  const DType dtype = c.problem().token_x.dtype;
  switch (rng.integer(0, 4)) {
    case 0:
      std::ranges::fill(x, std::byte{0});
      break;
    case 1:
      put_bad(rng, c, TensorId::token_x, x);
      break;
    case 2:  // the whole row
      for (std::size_t i = 0; i < x.size(); i += element_size(dtype)) {
        put_bad(rng, c, TensorId::token_x, x.subspan(i, element_size(dtype)));
      }
      break;
    case 3:
      put_bad(rng, c, TensorId::dequant_scale_x, c.token_row(TensorId::dequant_scale_x, t));
      break;
    default: {
      const TensorId table = rng.pick({TensorId::rope_sin, TensorId::rope_cos});
      put_bad(rng, c, table, c.token_row(table, t));
      break;
    }
  }
}

void spoil(Rng& rng, const Case& c) {
  for (std::int64_t t = 0; t < c.tokens(); ++t) {
    if (rng.chance(0.4)) spoil_token(rng, c, t);
  }
  if (!rng.chance(0.3)) return;
  const TensorId anywhere =
      rng.pick({TensorId::weight_dq, TensorId::weight_uq_qr, TensorId::weight_uk, TensorId::weight_dkv_kr,
                TensorId::rmsnorm_gamma_cq, TensorId::rmsnorm_gamma_ckv, TensorId::dequant_scale_w_dq,
                TensorId::dequant_scale_w_uq_qr, TensorId::dequant_scale_w_dkv_kr, TensorId::quant_scale_ckv,
                TensorId::quant_scale_ckr, TensorId::smooth_scales_cq, TensorId::k_nope_clip_alpha});
  if (c.problem()[anywhere].present()) put_bad(rng, c, anywhere, c.memory(anywhere));
}

// Slots or block ids: distinct ones in random order, or any with duplicates and negative ones among them.
void fill_index(Rng& rng, const Case& c) {
  const auto memory = c.memory(TensorId::cache_index);
  if (memory.empty()) return;
  const ProblemConfig& config = c.config();
  const bool by_block = is_block_table(config.cache_mode);
  const std::int64_t capacity = by_block ? config.block_num : config.block_num * config.block_size;
  std::vector<std::int64_t> index(memory.size() / sizeof(std::int64_t));
  if (capacity == 0) {
    std::ranges::fill(index, 1LL << 40);  // not to be read
  } else if (c.spec().distinct_slots) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(capacity));
    std::iota(all.begin(), all.end(), 0);
    rng.shuffle(all);
    std::copy_n(all.begin(), index.size(), index.begin());
  } else {
    const std::int64_t highest = std::min<std::int64_t>(capacity - 1, rng.chance(0.5) ? 3 : capacity - 1);
    for (auto& i : index) i = rng.chance(0.2) ? -rng.integer(1, 1LL << 50) : rng.integer(0, highest);
  }
  std::memcpy(memory.data(), index.data(), memory.size());
}

}  // namespace

void fill_case(const Case& c) {
  Rng rng(c.spec().data_seed);
  for (const TensorId id : all_tensors()) {
    if (is_output(id) || !c.problem()[id].present()) continue;
    if (is_cache(id)) {
      std::ranges::generate(c.memory(id), [&] { return any_byte(rng); });
    } else if (id != TensorId::cache_index && id != TensorId::actual_seq_len) {
      fill_ordinary(rng, c, id);
    }
  }
  fill_index(rng, c);
  if (!c.spec().prefix_sums.empty() && c.data(TensorId::actual_seq_len) != nullptr) {
    std::memcpy(c.data(TensorId::actual_seq_len), c.spec().prefix_sums.data(),
                c.memory(TensorId::actual_seq_len).size());
  }
  const bool bad = c.spec().values == Values::non_finite || c.spec().values == Values::wild;
  if (bad && c.tokens() > 0) spoil(rng, c);
}

}  // namespace mla_prolog::test
