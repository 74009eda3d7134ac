// A problem that was accepted, resolved to plain numbers: what every backend works from.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/row_kernels.hpp"
#include "mla_prolog/problem.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

// Operand type of the x, weight_dq, weight_dkv_kr and weight_uq_qr matmuls.
enum class Operand : std::uint8_t { bf16, int8, mx, e4m3, hif8 };

// kv_cache_quant_mode.
enum class CacheQuant : std::uint8_t { none = 0, per_tensor = 1, per_channel = 2, per_tile = 3 };

struct Layer {
  // Tokens: T, and S when they are 3-D (0 when 2-D).
  std::int64_t tokens = 0;
  std::int64_t seq = 0;
  // Dimensions.
  std::int64_t he = 0;
  std::int64_t hcq = 0;
  std::int64_t n = 0;
  std::int64_t d = 0;
  // Scenario.
  int weight_quant_mode = 0;
  CacheQuant cache_quant = CacheQuant::none;
  Profile profile = Profile::a2;
  Operand x_operand = Operand::bf16;                            // token_x, weight_dq, weight_dkv_kr
  Operand cq_operand = Operand::bf16;                           // c^Q, weight_uq_qr
  kernels::QuantKind cq_kind = kernels::QuantKind::int8_a2;     // of c^Q, unless bf16 or MX
  kernels::QuantKind query_kind = kernels::QuantKind::int8_a2;  // of q^N, per-tensor caches only
  kernels::QuantKind cache_kind = kernels::QuantKind::int8_a2;  // of c^KV, quantised caches only
  // Attributes, narrowed.
  float epsilon_cq = 0;
  float epsilon_ckv = 0;
  float qc_qr_scale = 1;
  float kc_scale = 1;
  bool apply_qc_qr_scale = false;  // not within FLT_EPSILON of 1
  bool apply_kc_scale = false;
  bool smooth_scales = false;
  bool query_norm = false;
  // Caches. Strides are those of the first dimension, in elements.
  CacheMode cache_mode = CacheMode::pa_bsnd;
  std::int64_t block_num = 0;   // BSND: B; TND: T
  std::int64_t block_size = 1;  // BSND: S; TND: 1
  std::int64_t kv_row = 512;    // elements of a kv_cache row: 512 or 656
  std::int64_t kv_stride = 0;
  std::int64_t kr_stride = 0;
  std::int64_t cache_index_entries = 0;  // block-table length of PA_BLK_* with 2-D tokens
  std::int64_t sequences = 0;            // entries of actual_seq_len
  std::int64_t token_x_stride = 0;       // elements from one row to the next

  bool quantised_query() const { return cache_quant == CacheQuant::per_tensor; }
  // Per-tile int8 caches clip by k_nope_clip_alpha.
  bool clips_tiles() const { return cache_quant == CacheQuant::per_tile && cq_operand == Operand::int8; }
  bool writes_cache() const { return tokens > 0 && block_num > 0; }
  std::int64_t uq_columns() const { return n * (d + kDr); }
  bool token_first() const { return profile == Profile::a2; }
};

inline constexpr std::int64_t kDkvColumns = kHckv + kDr;

// The layer of an accepted problem, or the first thing the CPU backends cannot take (strides; a profile that does not
// fit the mode). `profile` may be automatic.
Result<Layer> resolve_layer(const Problem& problem, Domain domain, Soc soc, Profile profile);

}  // namespace mla_prolog
