// c^KV and k^R as they are before the cache's quantisation, which `run` needs to choose the cache's scales.
#pragma once

#include "mla_prolog/types.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

struct LatentRows {
  Buffer c_kv;  ///< [T, 512] float32: normalised, scaled, not rounded
  Buffer k_r;   ///< [T, 64] float32: rotated and rounded to bf16
};

/// Computes both from the operands of a scenario, in the order of summation that the operator has.
LatentRows latent_rows(const Operands& operands, Profile profile);

/// MAX / amax over all rows: one value, or one for each column. 1 where that is no positive number (no rows, all zero,
/// infinite).
Buffer cache_scale(const Buffer& rows, std::int64_t columns, bool per_column, float largest);

}  // namespace mla_prolog::tools
