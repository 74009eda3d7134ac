// Where a token's row lies in a cache: the address table of numerics.md section 9, transcribed line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mla_prolog/types.hpp"

namespace mla_prolog::test {

inline bool is_paged(CacheMode mode) { return mode != CacheMode::bsnd && mode != CacheMode::tnd; }
inline bool is_block_table(CacheMode mode) { return mode == CacheMode::pa_blk_bsnd || mode == CacheMode::pa_blk_nz; }
inline bool is_nz_cache(CacheMode mode) { return mode == CacheMode::pa_nz || mode == CacheMode::pa_blk_nz; }

/// What decides a token's slot.
struct Addressing {
  CacheMode mode = CacheMode::pa_bsnd;
  std::int64_t seq = 0;         ///< S of 3-D tokens, 0 for 2-D ones
  std::int64_t block_size = 1;  ///< BSND: S; TND: 1
  std::vector<std::int64_t> index;
  std::vector<std::int32_t> prefix_sums;
};

struct Slot {
  std::int64_t block = 0;  ///< negative: the token's write is skipped
  std::int64_t offset = 0;
};
Slot oracle_slot(const Addressing& addressing, std::int64_t token);

/// A cache in memory: blocks `block_stride` elements apart, rows of `width` elements.
struct CacheLayout {
  CacheMode mode = CacheMode::pa_bsnd;
  std::size_t element_bytes = 2;
  std::int64_t block_size = 1;
  std::int64_t block_stride = 0;
  std::int64_t width = 512;

  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * element_bytes; }
};

/// Writes or reads a row element by element.
void oracle_write_row(const CacheLayout& layout, const Slot& slot, const std::byte* row, std::byte* cache);
std::vector<std::byte> oracle_read_row(const CacheLayout& layout, const Slot& slot, const std::byte* cache);

}  // namespace mla_prolog::test
