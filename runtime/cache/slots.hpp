// Where each token's row goes (numerics.md 9): all index checking happens here, before anything is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mla_prolog/status.hpp"
#include "mla_prolog/types.hpp"
#include "runtime/cache/modes.hpp"

namespace mla_prolog {

// The part of a problem that decides where rows go.
struct SlotMap {
  CacheMode mode = CacheMode::pa_bsnd;
  std::int64_t tokens = 0;
  std::int64_t seq = 0;  // S of 3-D tokens; 0: 2-D tokens
  std::int64_t block_num = 0;
  std::int64_t block_size = 1;
  std::int64_t table_entries = 0;                // PA_BLK_*: entries of cache_index
  std::int64_t sequences = 0;                    // PA_BLK_* with 2-D tokens: entries of actual_seq_len
  const std::int64_t* cache_index = nullptr;     // slots, or the block table
  const std::int32_t* actual_seq_len = nullptr;  // inclusive prefix sums
};

// Bytes of workspace for `resolve_slots`, 8-byte aligned.
std::size_t slot_scratch_bytes(CacheMode mode, std::int64_t tokens) noexcept;

// Fills slot[t] for t < tokens with block * block_size + offset, or -1 where the token's row is not written: a negative
// index, or a slot that a higher token writes too. With BSND and TND slot[t] = t. `scratch` holds the slots first.
Status resolve_slots(const SlotMap& map, std::int64_t* scratch) noexcept;

// Element offset of element c of the row in `slot` of a cache whose blocks lie `block_stride` elements apart.
struct RowAddress {
  CacheMode mode;
  std::int64_t block_size;
  std::int64_t block_stride;
  std::int64_t row_width;  // elements of a row
  std::int64_t nz_width;   // 32 bytes' worth of elements

  bool nz() const noexcept { return is_nz_cache(mode); }
  // Of the row's first element.
  std::int64_t base(std::int64_t slot) const noexcept {
    const std::int64_t block = slot / block_size;
    const std::int64_t offset = slot % block_size;
    return block * block_stride + offset * (nz() ? nz_width : row_width);
  }
  // From one 32-byte group of the row to the next.
  std::int64_t group_stride() const noexcept { return nz() ? block_size * nz_width : nz_width; }
};

// Copies a row of `row_bytes` (a multiple of 32 in NZ modes) into its slot.
void write_row(const RowAddress& address, std::int64_t slot, const void* row, std::size_t row_bytes,
               std::size_t element_bytes, void* cache) noexcept;

}  // namespace mla_prolog
