// The sizes behind a problem's tensor descriptions.
#pragma once

#include <cstdint>
#include <optional>

#include "mla_prolog/tensor.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

/// Names as in numerics.md 0.2.
struct Dims {
  bool batched = false;  ///< token_x is [B, S, He], not [T, He]
  std::int64_t b = 0;    ///< sequences; of 2-D tokens known only from actual_seq_len, else 0
  std::int64_t s = 0;    ///< 3-D tokens only
  std::int64_t t = 0;    ///< all tokens
  std::int64_t he = 0;
  std::int64_t hcq = 0;
  std::int64_t n = 0;
  std::int64_t d = 0;
  std::int64_t dr = 0;
  std::int64_t hckv = 0;
  std::int64_t nkv = 0;
  std::int64_t block_num = 0;   ///< first dimension of kv_cache, whatever the cache mode
  std::int64_t block_size = 0;  ///< second dimension of a 4-D kv_cache
  std::int64_t dtile = 0;       ///< last dimension of kv_cache

  std::int64_t uq_columns() const noexcept;  ///< N * (D + Dr)
};

/// How wide B * S is computed. The operator keeps 32 unsigned bits of it, so T wraps round.
enum class SizeWidth : std::uint8_t { bits32, bits64 };

/// Reads the sizes off the descriptions (validation.md 4.6). Never fails: what a missing or odd-ranked tensor would
/// tell is 0, and 64-bit products stop at INT64_MAX.
Dims derive_dims(const TensorDescs& tensors, std::optional<CacheMode> cache_mode, SizeWidth width) noexcept;

}  // namespace mla_prolog
