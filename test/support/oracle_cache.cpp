#include "test/support/oracle_cache.hpp"

#include <cstring>

namespace mla_prolog::test {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Byte offset of element c.
std::size_t element_at(const CacheLayout& layout, const Slot& slot, std::int64_t c) {
  const std::int64_t c0 = 32 / static_cast<std::int64_t>(layout.element_bytes);
  const std::int64_t in_block = is_nz_cache(layout.mode) ? (c / c0) * layout.block_size * c0 + slot.offset * c0 + c % c0
                                                         : slot.offset * layout.width + c;
  return static_cast<std::size_t>(slot.block * layout.block_stride + in_block) * layout.element_bytes;
}

}  // namespace

Slot oracle_slot(const Addressing& addressing, std::int64_t token) {
  const std::int64_t block_size = addressing.block_size;
  const auto entry = [&](std::int64_t i) { return addressing.index[static_cast<std::size_t>(i)]; };
  if (!is_paged(addressing.mode)) return {token / block_size, token % block_size};
  if (!is_block_table(addressing.mode)) {
    const std::int64_t i = entry(token);
    return i < 0 ? Slot{-1, 0} : Slot{i / block_size, i % block_size};
  }
  std::int64_t first = 0;
  std::int64_t position = 0;
  if (addressing.seq > 0) {
    first = token / addressing.seq * ceil_div(addressing.seq, block_size);
    position = token % addressing.seq;
  } else {
    const auto& sums = addressing.prefix_sums;
    std::size_t batch = 0;  // the first whose prefix sum exceeds the token, or the last
    while (batch + 1 < sums.size() && token >= sums[batch]) ++batch;
    std::int64_t begin = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      first += ceil_div(sums[b] - begin, block_size);
      begin = sums[b];
    }
    position = token - begin;
  }
  return {entry(first + position / block_size), position % block_size};
}

void oracle_write_row(const CacheLayout& layout, const Slot& slot, const std::byte* row, std::byte* cache) {
  for (std::int64_t c = 0; c < layout.width; ++c) {
    std::memcpy(cache + element_at(layout, slot, c), row + static_cast<std::size_t>(c) * layout.element_bytes,
                layout.element_bytes);
  }
}

std::vector<std::byte> oracle_read_row(const CacheLayout& layout, const Slot& slot, const std::byte* cache) {
  std::vector<std::byte> row(layout.row_bytes());
  for (std::int64_t c = 0; c < layout.width; ++c) {
    std::memcpy(row.data() + static_cast<std::size_t>(c) * layout.element_bytes, cache + element_at(layout, slot, c),
                layout.element_bytes);
  }
  return row;
}

}  // namespace mla_prolog::test
