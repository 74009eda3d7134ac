// What is to be computed: descriptions of all tensors and the operator's attributes, and the phase-one check.
#pragma once

#include <cstdint>
#include <string>

#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

/// The operator's attributes, with the operator's names and defaults. Doubles are narrowed to float32 before use.
struct Attributes {
  double rmsnorm_epsilon_cq = 1e-5;
  double rmsnorm_epsilon_ckv = 1e-5;
  std::string cache_mode = "PA_BSND";
  std::int64_t weight_quant_mode = 0;      ///< 0 none, 1 weight_uq_qr int8, 2 int8, 3 mxfp8, 4 fp8, 5 hif8
  std::int64_t kv_cache_quant_mode = 0;    ///< 0 none, 1 per-tensor, 2 per-channel, 3 per-tile
  std::int64_t query_quant_mode = 0;       ///< 1 exactly when kv_cache_quant_mode is 1
  std::int64_t ckvkr_repo_mode = 0;        ///< 1 exactly when kv_cache_quant_mode is 3
  std::int64_t quant_scale_repo_mode = 0;  ///< 1 exactly when kv_cache_quant_mode is 3
  std::int64_t tile_size = 128;
  double qc_qr_scale = 1.0;  ///< multiplies the normalised c^Q
  double kc_scale = 1.0;     ///< multiplies the normalised c^KV
};

struct Problem : TensorDescs {
  Attributes attributes;
};

/// A problem in a model's terms; `describe` turns it into tensor descriptions.
struct ProblemConfig {
  std::int64_t he = 7168;   ///< hidden size
  std::int64_t hcq = 1536;  ///< q_lora_rank
  std::int64_t n = 128;     ///< heads (of this rank)
  std::int64_t d = 128;     ///< qk_nope_head_dim

  /// Tokens: 3-D [batch, seq, ...] when `batched`, else 2-D [tokens, ...].
  bool batched = false;
  std::int64_t tokens = 0;
  std::int64_t batch = 0;
  std::int64_t seq = 0;

  std::int64_t weight_quant_mode = 0;
  std::int64_t kv_cache_quant_mode = 0;
  CacheMode cache_mode = CacheMode::pa_bsnd;
  std::int64_t block_num = 0;  ///< paged modes
  std::int64_t block_size = 128;
  /// 2-D tokens with PA_BLK_*: number of sequences and of block-table entries.
  std::int64_t sequences = 1;
  std::int64_t block_table_entries = 0;

  bool smooth_scales = false;  ///< give smooth_scales_cq where the mode takes it (1, 2, 4, 5)
  bool query_norm = false;     ///< request query_norm (and its scale)
};

/// Dense descriptions of all tensors of a scenario, weights as 4-D FRACTAL_NZ, and the mode attributes. Checks nothing:
/// `check` and `make_plan` do.
MLA_PROLOG_API Problem describe(const ProblemConfig& config);

/// Which operator's phase one to reproduce.
enum class ApiVersion : std::uint8_t { v1, v2, v3 };

struct CheckOptions {
  Domain domain = Domain::strict;
  Soc soc = Soc::automatic;
  ApiVersion api = ApiVersion::v3;
};

struct CheckReport {
  StatusCode code = StatusCode::success;
  /// Workspace that CANN would report, in bytes; 0 when refused. (What the CPU needs is Plan::workspace_bytes.)
  std::uint64_t cann_workspace_bytes = 0;
  TensorId tensor = TensorId::none;  ///< the offending tensor, if it is one
  std::string message;               ///< parameter, value and rule; empty when accepted
};

/// Phase one: the documented checks in the documented order. Looks at descriptions and attributes only.
MLA_PROLOG_API CheckReport check(const Problem& problem, const CheckOptions& options = {});

}  // namespace mla_prolog
