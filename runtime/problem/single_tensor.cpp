// Each tensor by itself: dtype, then format, then rank (validation.md 4.4).
#include <algorithm>
#include <array>
#include <string>

#include "runtime/problem/expectation.hpp"
#include "runtime/problem/rules.hpp"
#include "runtime/problem/saturating.hpp"

namespace mla_prolog::phase_one {
namespace {

using Id = TensorId;

constexpr DType kBf16 = DType::bf16;
constexpr DType kInt8 = DType::int8;
constexpr DType kE4m3 = DType::float8_e4m3fn;
constexpr DType kHif8 = DType::hifloat8;

// A few values; unused places hold what no value equals.
struct DTypes {
  int count;
  std::array<DType, 4> values;
};
struct Ranks {
  int count;
  std::array<std::int32_t, 3> values;
};

constexpr DTypes kOnlyBf16{1, {kBf16}};
constexpr DTypes kBf16OrInt8{2, {kBf16, kInt8}};
constexpr DTypes kEightBitToo{4, {kBf16, kInt8, kE4m3, kHif8}};
constexpr Ranks kAnyRank{0, {}};

struct TensorRule {
  Id tensor;
  Scope scope;
  DTypes dtypes;
  bool nz;      ///< FRACTAL_NZ, not ND
  Ranks ranks;  ///< none: neither format nor rank is looked at
};

constexpr Scope kEverywhere{kAnyApi, kAnyWorld};
constexpr Scope kOld{kAnyApi, kArch22};             // V1 and V2 exist there alone
constexpr Scope kNew{kAnyApi, kArch35 | kRelaxed};  // their columns keep V1 and V2 to the old dtypes

constexpr std::array kTensorRules{
    TensorRule{Id::token_x, kOld, kBf16OrInt8, false, {2, {2, 3}}},
    TensorRule{Id::token_x, kNew, kEightBitToo, false, {2, {2, 3}}},
    TensorRule{Id::weight_dq, kOld, kBf16OrInt8, true, {2, {2, 4}}},
    TensorRule{Id::weight_dq, kNew, kEightBitToo, true, {2, {2, 4}}},
    TensorRule{Id::weight_uq_qr, kOld, kBf16OrInt8, true, {2, {2, 4}}},
    TensorRule{Id::weight_uq_qr, kNew, kEightBitToo, true, {2, {2, 4}}},
    TensorRule{Id::weight_uk, kEverywhere, kBf16OrInt8, false, {1, {3}}},
    TensorRule{Id::weight_dkv_kr, kOld, kBf16OrInt8, true, {2, {2, 4}}},
    TensorRule{Id::weight_dkv_kr, kNew, kEightBitToo, true, {2, {2, 4}}},
    TensorRule{Id::rmsnorm_gamma_cq, kEverywhere, kOnlyBf16, false, {1, {1}}},
    TensorRule{Id::rmsnorm_gamma_ckv, kEverywhere, kOnlyBf16, false, {1, {1}}},
    TensorRule{Id::rope_sin, kEverywhere, kOnlyBf16, false, {2, {2, 3}}},
    TensorRule{Id::rope_cos, kEverywhere, kOnlyBf16, false, {2, {2, 3}}},
    TensorRule{Id::cache_index, {kV1V2, kAnyWorld}, {1, {DType::int64}}, false, {2, {1, 2}}},
    TensorRule{Id::kv_cache, {kV3, kArch22}, kBf16OrInt8, false, {2, {3, 4}}},
    TensorRule{Id::kv_cache, {kV3, kArch35 | kRelaxed}, kEightBitToo, false, {2, {3, 4}}},
    TensorRule{Id::kv_cache, {kV1V2, kAnyWorld}, kBf16OrInt8, false, {1, {4}}},
    TensorRule{Id::kr_cache, kEverywhere, kBf16OrInt8, false, {3, {1, 3, 4}}},
    TensorRule{Id::actual_seq_len, kEverywhere, {1, {DType::int32}}, false, kAnyRank},
};

bool is_skipped(const TensorRule& rule, const Call& call) noexcept {
  if (rule.tensor == Id::actual_seq_len) return !call.problem.actual_seq_len.present();
  if (rule.tensor != Id::kr_cache) return false;
  if (call.world == World::arch22) return call.v3() && call.attributes().ckvkr_repo_mode == 1;
  return call.relaxed() && call.scenario->per_tile() && call.problem.kr_cache.has_zero_elements();
}

template <typename Set, typename Value>
bool contains(const Set& set, Value value) noexcept {
  const auto end = set.values.begin() + set.count;
  return std::find(set.values.begin(), end, value) != end;
}

template <typename Set>
auto used(const Set& set) noexcept {
  return std::span(set.values).first(static_cast<std::size_t>(set.count));
}

Violation violation(const TensorDesc& desc, Id id, const std::string& requirement) {
  return {id, std::string(to_string(id)) + " is " + desc.to_string() + ", must be " + requirement};
}

}  // namespace

Finding single_tensor_violation(const Call& call) {
  for (const TensorRule& rule : kTensorRules) {
    if (!rule.scope.covers(call) || is_skipped(rule, call)) continue;
    const TensorDesc& desc = call.problem[rule.tensor];
    if (!contains(rule.dtypes, desc.dtype)) {
      return violation(desc, rule.tensor, one_of(used(rule.dtypes), [](DType t) { return std::string(to_string(t)); }));
    }
    if (rule.ranks.count == 0) continue;
    if (rule.nz ? desc.format != Format::fractal_nz : !is_taken_as_nd(desc.format)) {
      return violation(desc, rule.tensor, rule.nz ? "in format FRACTAL_NZ" : "in format ND");
    }
    if (!contains(rule.ranks, desc.rank)) {
      return violation(desc, rule.tensor, one_of(used(rule.ranks), [](int r) { return std::to_string(r) + "-D"; }));
    }
  }
  return std::nullopt;
}

Finding unrepresentable_tensor(const Call& call) {
  for (const Id id : all_tensors()) {
    const TensorDesc& desc = call.problem[id];
    if (id == Id::k_nope_clip_alpha && !call.scenario->takes_clip_alpha()) continue;
    const int rank = std::min(desc.rank, kMaxRank);
    for (int i = 0; i < rank; ++i) {
      if (desc.shape[static_cast<std::size_t>(i)] < 0) return violation(desc, id, "without negative sizes");
    }
    const auto element = static_cast<std::int64_t>(element_size(desc.dtype));
    if (saturating_product(desc.numel(), element) == std::numeric_limits<std::int64_t>::max()) {
      return violation(desc, id, "of fewer than 2^63 bytes");
    }
  }
  return std::nullopt;
}

}  // namespace mla_prolog::phase_one
