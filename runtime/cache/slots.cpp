#include "runtime/cache/slots.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace mla_prolog {
namespace {

constexpr std::int64_t kSkip = -1;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Status index_range(std::int64_t token, std::int64_t value, std::int64_t capacity) {
  return {.code = StatusCode::param_invalid,
          .rule = Rule::cache_index_range,
          .tensor = TensorId::cache_index,
          .index = token,
          .value = value,
          .limit = capacity};
}

// cache_index[t] is the slot itself.
Status slots_by_index(const SlotMap& map, std::int64_t* slot) {
  const std::int64_t capacity = map.block_num * map.block_size;
  for (std::int64_t t = 0; t < map.tokens; ++t) {
    const std::int64_t index = map.cache_index[t];
    if (index >= capacity) return index_range(t, index, capacity);
    slot[t] = index < 0 ? kSkip : index;
  }
  return {};
}

// The slot of the token at position `pos` of a sequence whose block table starts at entry `first`.
Status slot_by_block(const SlotMap& map, std::int64_t token, std::int64_t first, std::int64_t pos, std::int64_t* slot) {
  const std::int64_t entry = first + pos / map.block_size;
  if (entry >= map.table_entries) {
    return {.code = StatusCode::param_invalid,
            .rule = Rule::block_table_too_short,
            .tensor = TensorId::cache_index,
            .index = token,
            .value = entry,
            .limit = map.table_entries};
  }
  const std::int64_t block = map.cache_index[entry];
  if (block >= map.block_num) return index_range(token, block, map.block_num);
  *slot = block < 0 ? kSkip : block * map.block_size + pos % map.block_size;
  return {};
}

Status slots_by_table_3d(const SlotMap& map, std::int64_t* slot) {
  const std::int64_t entries_per_sequence = ceil_div(map.seq, map.block_size);
  for (std::int64_t t = 0; t < map.tokens; ++t) {
    const Status status = slot_by_block(map, t, t / map.seq * entries_per_sequence, t % map.seq, slot + t);
    if (!status.ok()) return status;
  }
  return {};
}

Status slots_by_table_2d(const SlotMap& map, std::int64_t* slot) {
  const std::span<const std::int32_t> ends(map.actual_seq_len, static_cast<std::size_t>(map.sequences));
  std::int64_t previous = 0;
  for (std::int64_t b = 0; b < map.sequences; ++b) {
    const std::int64_t end = ends[static_cast<std::size_t>(b)];
    if (end < previous) {
      return {.code = StatusCode::param_invalid,
              .rule = Rule::prefix_sum_decreasing,
              .tensor = TensorId::actual_seq_len,
              .index = b,
              .value = end,
              .limit = previous};
    }
    previous = end;
  }
  std::int64_t batch = 0;
  std::int64_t begin = 0;  // first token of the batch
  std::int64_t first = 0;  // its first entry in the block table
  for (std::int64_t t = 0; t < map.tokens; ++t) {
    // Tokens past the last prefix sum continue in the last batch.
    while (batch + 1 < map.sequences && t >= ends[static_cast<std::size_t>(batch)]) {
      const std::int64_t end = ends[static_cast<std::size_t>(batch)];
      first += ceil_div(end - begin, map.block_size);
      begin = end;
      ++batch;
    }
    const Status status = slot_by_block(map, t, first, t - begin, slot + t);
    if (!status.ok()) return status;
  }
  return {};
}

std::size_t table_size(std::int64_t tokens) {
  std::size_t size = 2;
  while (size < 2 * static_cast<std::size_t>(tokens)) size *= 2;
  return size;
}

// Of several tokens with one slot only the highest keeps it. `table` is an open-addressing set of the slots seen.
void keep_last_writer(std::span<std::int64_t> slot, std::span<std::int64_t> table) {
  std::fill(table.begin(), table.end(), kSkip);
  const std::size_t mask = table.size() - 1;
  for (std::size_t t = slot.size(); t-- > 0;) {
    if (slot[t] == kSkip) continue;
    auto i = static_cast<std::size_t>(static_cast<std::uint64_t>(slot[t]) * 0x9E3779B97F4A7C15U >> 20) & mask;
    while (table[i] != kSkip && table[i] != slot[t]) i = (i + 1) & mask;
    if (table[i] == slot[t]) {
      slot[t] = kSkip;
    } else {
      table[i] = slot[t];
    }
  }
}

}  // namespace

std::size_t slot_scratch_bytes(CacheMode mode, std::int64_t tokens) noexcept {
  const std::size_t table = is_paged(mode) ? table_size(tokens) : 0;
  return (static_cast<std::size_t>(tokens) + table) * sizeof(std::int64_t);
}

Status resolve_slots(const SlotMap& map, std::int64_t* scratch) noexcept {
  if (!is_paged(map.mode)) {
    for (std::int64_t t = 0; t < map.tokens; ++t) scratch[t] = t;
    return {};
  }
  Status status;
  if (!is_block_table(map.mode)) {
    status = slots_by_index(map, scratch);
  } else if (map.seq > 0) {
    status = slots_by_table_3d(map, scratch);
  } else {
    status = slots_by_table_2d(map, scratch);
  }
  if (status.ok()) {
    const auto tokens = static_cast<std::size_t>(map.tokens);
    keep_last_writer({scratch, tokens}, {scratch + tokens, table_size(map.tokens)});
  }
  return status;
}

void write_row(const RowAddress& address, std::int64_t slot, const void* row, std::size_t row_bytes,
               std::size_t element_bytes, void* cache) noexcept {
  auto* out = static_cast<std::uint8_t*>(cache) + static_cast<std::size_t>(address.base(slot)) * element_bytes;
  if (!address.nz()) {
    std::memcpy(out, row, row_bytes);
    return;
  }
  constexpr std::size_t kGroupBytes = 32;
  const std::size_t stride = static_cast<std::size_t>(address.group_stride()) * element_bytes;
  const auto* in = static_cast<const std::uint8_t*>(row);
  for (std::size_t i = 0; i < row_bytes; i += kGroupBytes, out += stride) std::memcpy(out, in + i, kGroupBytes);
}

}  // namespace mla_prolog
