// Rules about attributes, presence and sizes: one row each, in the order of validation.md.
#include <array>
#include <string>

#include "runtime/cache/modes.hpp"
#include "runtime/problem/rules.hpp"

namespace mla_prolog::phase_one {
namespace {

using Id = TensorId;

template <auto Member>
std::string attribute(const Call& call) {
  return std::to_string(call.attributes().*Member);
}

template <auto Member>
std::string size(const Call& call) {
  return std::to_string(call.dims.*Member);
}

template <std::int64_t... Allowed>
constexpr bool in(std::int64_t value) noexcept {
  return ((value == Allowed) || ...);
}

// The operator reads these attributes as 32-bit unsigned numbers here.
template <std::int64_t... Allowed>
constexpr bool narrow_in(std::int64_t value) noexcept {
  return in<Allowed...>(static_cast<std::uint32_t>(value));
}

std::string quoted_cache_mode(const Call& call) {
  constexpr std::size_t kShown = 32;
  const std::string& name = call.attributes().cache_mode;
  return '"' + name.substr(0, kShown) + (name.size() > kShown ? "..." : "") + '"';
}

bool fused_block_table(const Call& call) noexcept {
  return call.cache_mode && is_block_table(*call.cache_mode) && !call.dims.batched;
}
bool scales_each_head(const Call& call) noexcept { return call.weight_mode >= 2 && call.kv_mode == 1; }
bool scales_query_norm(const Call& call) noexcept { return call.weight_mode != 0 && call.problem.query_norm.present(); }
bool is_mode(const Call& call, CacheMode mode) noexcept { return call.cache_mode == mode; }

constexpr Scope kEverywhere{kAnyApi, kAnyWorld};
constexpr Scope kV3Only{kV3, kAnyWorld};
constexpr Scope kInStrict{kAnyApi, kStrict};
constexpr Scope kInRelaxed{kAnyApi, kRelaxed};

constexpr std::array kSocRules{
    CallRule{"1",
             {kV1V2, kArch35},
             "the operator version",
             Id::none,
             [](const Call& c) { return std::string(c.api == ApiVersion::v1 ? "V1" : "V2"); },
             [](const Call&) { return false; },
             "V3 on Ascend 950"},
};

constexpr std::array kModeRules{
    CallRule{"1.1",
             {kV3, kArch22},
             "weight_quant_mode",
             Id::none,
             attribute<&Attributes::weight_quant_mode>,
             [](const Call& c) { return in<0, 1, 2>(c.weight_mode); },
             "0, 1 or 2 on Ascend 910B and 910_93"},
    CallRule{"1.1",
             {kV3, kArch35 | kRelaxed},
             "weight_quant_mode",
             Id::none,
             attribute<&Attributes::weight_quant_mode>,
             [](const Call& c) { return in<0, 1, 2, 3, 4, 5>(c.weight_mode); },
             "0, 1, 2, 3, 4 or 5"},
    CallRule{"1.2", kV3Only, "kv_cache_quant_mode", Id::none, attribute<&Attributes::kv_cache_quant_mode>,
             [](const Call& c) { return c.weight_mode != 0 || c.kv_mode == 0; }, "0 when weight_quant_mode is 0"},
    CallRule{"1.2", kV3Only, "kv_cache_quant_mode", Id::none, attribute<&Attributes::kv_cache_quant_mode>,
             [](const Call& c) { return c.weight_mode != 1 || in<0, 2, 3>(c.kv_mode); },
             "0, 2 or 3 when weight_quant_mode is 1"},
    CallRule{"1.2", kV3Only, "kv_cache_quant_mode", Id::none, attribute<&Attributes::kv_cache_quant_mode>,
             [](const Call& c) { return c.weight_mode < 2 || in<0, 1, 3>(c.kv_mode); },
             "0, 1 or 3 when weight_quant_mode is 2 to 5"},
    CallRule{"1.3", kV3Only, "query_quant_mode", Id::none, attribute<&Attributes::query_quant_mode>,
             [](const Call& c) { return in<0, 1>(c.attributes().query_quant_mode); }, "0 or 1"},
    CallRule{"1.5", kV3Only, nullptr, Id::dequant_scale_q_nope, nullptr,
             [](const Call& c) { return c.problem.dequant_scale_q_nope.present() || !scales_each_head(c); },
             "given when weight_quant_mode is 2 to 5 and kv_cache_quant_mode is 1"},
    CallRule{"1.5", kV3Only, nullptr, Id::dequant_scale_q_nope, nullptr,
             [](const Call& c) { return !c.problem.dequant_scale_q_nope.present() || scales_each_head(c); },
             "null unless weight_quant_mode is 2 to 5 and kv_cache_quant_mode is 1"},
    CallRule{"1.6", kV3Only, nullptr, Id::dequant_scale_q_norm, nullptr,
             [](const Call& c) { return c.problem.dequant_scale_q_norm.present() || !scales_query_norm(c); },
             "given when query_norm is and weight_quant_mode is not 0"},
    CallRule{"1.6", kV3Only, nullptr, Id::dequant_scale_q_norm, nullptr,
             [](const Call& c) { return !c.problem.dequant_scale_q_norm.present() || scales_query_norm(c); },
             "null unless query_norm is given and weight_quant_mode is not 0"},
};

constexpr std::array kAttributeRules{
    CallRule{"4.3", kV3Only, "ckvkr_repo_mode", Id::none, attribute<&Attributes::ckvkr_repo_mode>,
             [](const Call& c) { return narrow_in<0, 1>(c.attributes().ckvkr_repo_mode); }, "0 or 1"},
    CallRule{"4.3", kV3Only, "quant_scale_repo_mode", Id::none, attribute<&Attributes::quant_scale_repo_mode>,
             [](const Call& c) { return narrow_in<0, 1>(c.attributes().quant_scale_repo_mode); }, "0 or 1"},
    CallRule{"4.3", kV3Only, "tile_size", Id::none, attribute<&Attributes::tile_size>,
             [](const Call& c) { return narrow_in<kTileSize>(c.attributes().tile_size); }, "128 in every mode"},
};

constexpr std::array kCacheModeRules{
    CallRule{"4.5",
             {kV1V2, kAnyWorld},
             "cache_mode",
             Id::none,
             quoted_cache_mode,
             [](const Call& c) { return is_mode(c, CacheMode::pa_bsnd) || is_mode(c, CacheMode::pa_nz); },
             "PA_BSND or PA_NZ"},
    CallRule{"4.5", kV3Only, "cache_mode", Id::none, quoted_cache_mode,
             [](const Call& c) { return c.cache_mode.has_value(); },
             "PA_BSND, PA_NZ, PA_BLK_BSND, PA_BLK_NZ, BSND or TND"},
    CallRule{"4.5", kV3Only, nullptr, Id::token_x, nullptr,
             [](const Call& c) { return !is_mode(c, CacheMode::tnd) || c.problem.token_x.rank == 2; },
             "2-D when cache_mode is TND"},
    CallRule{"4.5", kV3Only, nullptr, Id::kv_cache, nullptr,
             [](const Call& c) { return !is_mode(c, CacheMode::tnd) || c.problem.kv_cache.rank == 3; },
             "3-D when cache_mode is TND"},
    CallRule{"4.5", kV3Only, nullptr, Id::token_x, nullptr,
             [](const Call& c) { return !is_mode(c, CacheMode::bsnd) || c.problem.token_x.rank == 3; },
             "3-D when cache_mode is BSND"},
    CallRule{"4.5", kV3Only, nullptr, Id::kv_cache, nullptr,
             [](const Call& c) { return is_mode(c, CacheMode::tnd) || c.problem.kv_cache.rank == 4; },
             "4-D unless cache_mode is TND"},
    CallRule{"4.5", kV3Only, "cache_mode", Id::none, quoted_cache_mode,
             [](const Call& c) {
               return c.kv_mode != 3 || is_mode(c, CacheMode::pa_bsnd) || is_mode(c, CacheMode::bsnd) ||
                      is_mode(c, CacheMode::tnd);
             },
             "PA_BSND, BSND or TND when kv_cache_quant_mode is 3"},
};

constexpr std::array kScenarioRules{
    CallRule{"4.7", kV3Only, nullptr, Id::actual_seq_len, nullptr,
             [](const Call& c) { return !fused_block_table(c) || c.problem.actual_seq_len.present(); },
             "given when cache_mode is PA_BLK_BSND or PA_BLK_NZ and token_x is 2-D"},
    CallRule{"contract.md 4",
             {kV3, kRelaxed},
             nullptr,
             Id::actual_seq_len,
             nullptr,
             [](const Call& c) { return !fused_block_table(c) || c.dims.t == 0 || c.dims.b > 0; },
             "of at least one sequence when there are tokens"},
};

constexpr std::array kCoupledModeRules{
    CallRule{"4.8", kV3Only, "ckvkr_repo_mode", Id::none, attribute<&Attributes::ckvkr_repo_mode>,
             [](const Call& c) { return c.attributes().ckvkr_repo_mode == (c.kv_mode == 3 ? 1 : 0); },
             "1 when kv_cache_quant_mode is 3, else 0"},
    CallRule{"4.8", kV3Only, "quant_scale_repo_mode", Id::none, attribute<&Attributes::quant_scale_repo_mode>,
             [](const Call& c) { return c.attributes().quant_scale_repo_mode == (c.kv_mode == 3 ? 1 : 0); },
             "1 when kv_cache_quant_mode is 3, else 0"},
    CallRule{"4.8", kV3Only, "query_quant_mode", Id::none, attribute<&Attributes::query_quant_mode>,
             [](const Call& c) { return c.attributes().query_quant_mode == (c.kv_mode == 1 ? 1 : 0); },
             "1 when kv_cache_quant_mode is 1, else 0"},
};

bool block_size_fits_device(const Call& call) noexcept {
  const std::int64_t size = call.dims.block_size;
  return size >= 16 && size <= 1024 && size % 16 == 0;
}
bool dtile_fits(const Call& call) noexcept { return call.dims.dtile == call.scenario->dtile(); }
constexpr std::int64_t kMostSequences = 65536;
constexpr std::int64_t kInt8DepthLimit = 131072;  // beyond it a sum of int8 products may leave int32

constexpr std::array kSizeRules{
    CallRule{"4.9", kEverywhere, "B", Id::token_x, size<&Dims::b>,
             [](const Call& c) { return !c.dims.batched || c.dims.b <= kMostSequences; }, "at most 65536"},
    CallRule{"4.9", kEverywhere, "B", Id::actual_seq_len, size<&Dims::b>,
             [](const Call& c) { return c.dims.batched || c.dims.b <= kMostSequences; }, "at most 65536"},
    CallRule{"4.9", kInStrict, "He", Id::token_x, size<&Dims::he>,
             [](const Call& c) { return in<1024, 2048, 3072, 4096, 5120, 6144, 7168, 7680, 8192>(c.dims.he); },
             "1024, 2048, 3072, 4096, 5120, 6144, 7168, 7680 or 8192"},
    CallRule{"contract.md 4", kInRelaxed, "He", Id::token_x, size<&Dims::he>,
             [](const Call& c) { return c.dims.he > 0 && c.dims.he % 32 == 0; }, "a multiple of 32"},
    CallRule{"contract.md 4", kInRelaxed, "He", Id::token_x, size<&Dims::he>,
             [](const Call& c) { return !c.scenario->int8_weights() || c.dims.he < kInt8DepthLimit; },
             "below 131072 with int8 weights"},
    CallRule{"4.9", kInStrict, "N", Id::weight_uk, size<&Dims::n>,
             [](const Call& c) { return in<1, 2, 4, 8, 16, 32, 64, 128>(c.dims.n); }, "1, 2, 4, 8, 16, 32, 64 or 128"},
    CallRule{"contract.md 4", kInRelaxed, "N", Id::weight_uk, size<&Dims::n>,
             [](const Call& c) { return c.dims.n >= 1; }, "at least 1"},
    CallRule{"4.9", kEverywhere, "Hckv", Id::weight_dkv_kr, size<&Dims::hckv>,
             [](const Call& c) { return c.dims.hckv == kHckv; }, "512 (the columns without those of rope_cos)"},
    CallRule{"4.9", kEverywhere, "Dr", Id::rope_cos, size<&Dims::dr>, [](const Call& c) { return c.dims.dr == kDr; },
             "64"},
    CallRule{"4.9", kEverywhere, "Nkv", Id::kv_cache, size<&Dims::nkv>, [](const Call& c) { return c.dims.nkv == 1; },
             "1"},
    CallRule{"4.9", kInStrict, "BlockSize", Id::kv_cache, size<&Dims::block_size>,
             [](const Call& c) { return !is_paged(*c.cache_mode) || block_size_fits_device(c); },
             "16 to 1024 and a multiple of 16"},
    CallRule{"contract.md 4", kInRelaxed, "BlockSize", Id::kv_cache, size<&Dims::block_size>,
             [](const Call& c) { return !is_nz_cache(*c.cache_mode) || block_size_fits_device(c); },
             "16 to 1024 and a multiple of 16 when cache_mode is PA_NZ or PA_BLK_NZ"},
    CallRule{"contract.md 4", kInRelaxed, "BlockSize", Id::kv_cache, size<&Dims::block_size>,
             [](const Call& c) { return !is_paged(*c.cache_mode) || c.dims.block_size >= 1; }, "at least 1"},
    CallRule{"4.9",
             {kV3, kStrict},
             "Hcq",
             Id::weight_dq,
             size<&Dims::hcq>,
             [](const Call& c) { return in<1536, 2048>(c.dims.hcq); },
             "1536 or 2048"},
    CallRule{"4.9",
             {kV1V2, kStrict},
             "Hcq",
             Id::weight_dq,
             size<&Dims::hcq>,
             [](const Call& c) { return c.dims.hcq == 1536; },
             "1536"},
    CallRule{"contract.md 4", kInRelaxed, "Hcq", Id::weight_dq, size<&Dims::hcq>,
             [](const Call& c) { return c.dims.hcq > 0 && c.dims.hcq % 64 == 0; }, "a multiple of 64"},
    CallRule{"contract.md 4", kInRelaxed, "Hcq", Id::weight_dq, size<&Dims::hcq>,
             [](const Call& c) { return !c.scenario->int8_weights() || c.dims.hcq < kInt8DepthLimit; },
             "below 131072 with int8 weights"},
    CallRule{"4.9",
             {kV3, kStrict},
             "D",
             Id::weight_uk,
             size<&Dims::d>,
             [](const Call& c) { return in<128, 192>(c.dims.d); },
             "128 or 192"},
    CallRule{"4.9",
             {kV1V2, kStrict},
             "D",
             Id::weight_uk,
             size<&Dims::d>,
             [](const Call& c) { return c.dims.d == 128; },
             "128"},
    CallRule{"contract.md 4", kInRelaxed, "D", Id::weight_uk, size<&Dims::d>,
             [](const Call& c) { return c.dims.d > 0 && c.dims.d % 16 == 0; }, "a multiple of 16"},
    CallRule{"contract.md 4", kInRelaxed, "N * (D + 64)", Id::weight_uq_qr,
             [](const Call& c) { return std::to_string(c.dims.uq_columns()); },
             [](const Call& c) { return c.dims.uq_columns() % nz_width(c.scenario->weight_uq_qr) == 0; },
             "a multiple of a FRACTAL_NZ group, 16 columns of BF16 or 32 of an 8-bit type"},
    CallRule{"4.9", kV3Only, "Dtile", Id::kv_cache, size<&Dims::dtile>, dtile_fits,
             "656 when kv_cache_quant_mode is 3, else 512"},
    // The hardware's V1 and V2 never look at it.
    CallRule{"contract.md 4", {kV1V2, kRelaxed}, "Dtile", Id::kv_cache, size<&Dims::dtile>, dtile_fits, "512"},
};

constexpr std::array kSpecialRules{
    CallRule{"4.10", kV3Only, nullptr, Id::kr_cache, nullptr,
             [](const Call& c) { return !c.scenario->per_tile() || c.problem.kr_cache.has_zero_elements(); },
             "of zero elements when kv_cache_quant_mode is 3"},
    CallRule{"4.10", kV3Only, nullptr, Id::cache_index, nullptr,
             [](const Call& c) { return !fused_block_table(c) || c.problem.cache_index.rank == 1; },
             "given and 1-D when cache_mode is PA_BLK_BSND or PA_BLK_NZ and token_x is 2-D"},
};

}  // namespace

std::span<const CallRule> soc_rules() noexcept { return kSocRules; }
std::span<const CallRule> mode_rules() noexcept { return kModeRules; }
std::span<const CallRule> attribute_rules() noexcept { return kAttributeRules; }
std::span<const CallRule> cache_mode_rules() noexcept { return kCacheModeRules; }
std::span<const CallRule> scenario_rules() noexcept { return kScenarioRules; }
std::span<const CallRule> coupled_mode_rules() noexcept { return kCoupledModeRules; }
std::span<const CallRule> size_rules() noexcept { return kSizeRules; }
std::span<const CallRule> special_rules() noexcept { return kSpecialRules; }

}  // namespace mla_prolog::phase_one
