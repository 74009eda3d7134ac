// The sixteen combinations of weight and cache quantisation (numerics.md 1, validation.md 2 and 4.11).
#pragma once

#include <cstdint>
#include <span>

#include "mla_prolog/types.hpp"

namespace mla_prolog {

struct Scenario {
  int id;  ///< the operator's own number, numerics.md 1
  std::int64_t weight_mode;
  std::int64_t kv_mode;
  DType token_x;       ///< weight_dq and weight_dkv_kr too
  DType weight_uq_qr;  ///< query_norm too
  DType kv_cache;
  DType kr_cache;  ///< `undefined`: kr_cache is empty, its rows live in kv_cache
  DType query;

  /// dequant_scale_x and the scales of weight_dq and weight_dkv_kr exist.
  constexpr bool full_quant() const noexcept { return weight_mode >= 2; }
  constexpr bool mx() const noexcept { return weight_mode == 3; }
  constexpr bool int8_weights() const noexcept { return weight_uq_qr == DType::int8; }
  constexpr bool takes_smooth_scales() const noexcept { return weight_mode != 0 && !mx(); }
  constexpr bool takes_clip_alpha() const noexcept { return per_tile() && int8_weights(); }
  constexpr bool per_tensor() const noexcept { return kv_mode == 1; }
  constexpr bool per_channel() const noexcept { return kv_mode == 2; }
  constexpr bool per_tile() const noexcept { return kv_mode == 3; }
  /// Of all dequantisation scales but dequant_scale_q_nope.
  constexpr DType scale_dtype() const noexcept { return mx() ? DType::float8_e8m0 : DType::float32; }
  /// Width of a kv_cache row, in elements.
  constexpr std::int64_t dtile() const noexcept { return per_tile() ? kPerTileRow : kHckv; }
};

/// All scenarios, by weight mode, then cache mode.
std::span<const Scenario> all_scenarios() noexcept;

/// Null when the combination does not exist.
const Scenario* find_scenario(std::int64_t weight_mode, std::int64_t kv_mode) noexcept;

}  // namespace mla_prolog
