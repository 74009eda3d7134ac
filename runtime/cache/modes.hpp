// What the cache modes have in common.
#pragma once

#include "mla_prolog/types.hpp"

namespace mla_prolog {

/// Whether kv_cache and kr_cache are paged; the other modes are BSND and TND.
constexpr bool is_paged(CacheMode mode) noexcept { return mode != CacheMode::bsnd && mode != CacheMode::tnd; }
/// Whether cache_index holds block tables.
constexpr bool is_block_table(CacheMode mode) noexcept {
  return mode == CacheMode::pa_blk_bsnd || mode == CacheMode::pa_blk_nz;
}
constexpr bool is_nz_cache(CacheMode mode) noexcept { return mode == CacheMode::pa_nz || mode == CacheMode::pa_blk_nz; }

}  // namespace mla_prolog
