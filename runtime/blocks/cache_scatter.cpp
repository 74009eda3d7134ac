#include <cstddef>
#include <cstdint>
#include <limits>

#include "mla_prolog/blocks.hpp"
#include "runtime/blocks/arguments.hpp"
#include "runtime/cache/slots.hpp"
#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

// A cache within it has no offset that overflows.
constexpr auto kLargestExtent = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());

bool paged(CacheMode mode) { return mode != CacheMode::bsnd && mode != CacheMode::tnd; }
bool by_block(CacheMode mode) { return mode == CacheMode::pa_blk_bsnd || mode == CacheMode::pa_blk_nz; }

// The cache may be strided in its first dimension; everything else as Arguments::tensor has it.
ConstTensorView first_block(const TensorView& cache) {
  ConstTensorView block = cache;
  if (block.desc.rank >= 1 && block.desc.rank <= kMaxRank && block.desc.shape[0] > 1) block.desc.shape[0] = 1;
  return block;
}

void check_indices(const CacheAddressing& addressing, blocks::Arguments& arguments) {
  if (!paged(addressing.mode)) return;
  arguments.tensor("cache_index", addressing.cache_index, {DType::int64});
  if (!by_block(addressing.mode)) {
    arguments.elements("cache_index", addressing.cache_index.desc, addressing.tokens);
  } else if (addressing.seq == 0) {
    arguments.tensor("actual_seq_len", addressing.actual_seq_len, {DType::int32});
    arguments.require(addressing.actual_seq_len.desc.numel() > 0, "actual_seq_len", 0);
  }
}

}  // namespace

std::size_t cache_scatter_scratch_bytes(std::int64_t tokens) noexcept {
  return slot_scratch_bytes(CacheMode::pa_bsnd, tokens < 0 ? 0 : tokens);
}

Status cache_scatter(const ConstTensorView& rows, const CacheAddressing& addressing, const TensorView& cache,
                     void* scratch, std::size_t scratch_bytes) noexcept {
  const std::int64_t width = blocks::row_width(rows.desc);
  const TensorDesc& desc = cache.desc;
  const std::size_t element_bytes = element_size(rows.desc.dtype);
  blocks::Arguments arguments;
  arguments.require(addressing.tokens >= 0, "tokens", addressing.tokens)
      .require(addressing.seq >= 0, "seq", addressing.seq)
      .require(addressing.seq == 0 || addressing.tokens % addressing.seq == 0, "seq", addressing.seq)
      .tensor("rows", rows, {DType::bf16, DType::int8, DType::float8_e4m3fn, DType::hifloat8})
      .rank_at_least("rows", rows.desc, 1)
      .rows("rows", rows.desc, addressing.tokens)
      .width_multiple("rows", rows.desc, 32 / static_cast<std::int64_t>(element_bytes == 0 ? 1 : element_bytes))
      .tensor("cache", first_block(cache), {rows.desc.dtype})
      .rank("cache", desc, addressing.mode == CacheMode::tnd ? 3 : 4)
      .width("cache", desc, width);
  if (!arguments.ok()) return arguments.status();
  const std::int64_t block_num = desc.shape[0];
  const std::int64_t block_size = desc.rank == 4 ? desc.shape[1] : 1;
  arguments.require(desc.shape[static_cast<std::size_t>(desc.rank - 2)] == 1, "cache",
                    desc.shape[static_cast<std::size_t>(desc.rank - 2)]);
  const std::int64_t slots_there_are = saturating_product(block_num, block_size);
  arguments
      .require(block_num <= 1 || desc.strides[0] >= saturating_product(block_size, width), "cache", desc.strides[0])
      .require(desc.extent_bytes() <= kLargestExtent, "cache", slots_there_are);
  if (!paged(addressing.mode)) arguments.require(slots_there_are == addressing.tokens, "cache", slots_there_are);
  if (addressing.tokens == 0 || block_num == 0) return arguments.status();
  check_indices(addressing, arguments);
  arguments.require(block_size >= 1, "cache", block_size)
      .require(scratch != nullptr && scratch_bytes >= slot_scratch_bytes(addressing.mode, addressing.tokens), "scratch",
               static_cast<std::int64_t>(scratch_bytes))
      .require(reinterpret_cast<std::uintptr_t>(scratch) % alignof(std::int64_t) == 0, "scratch",
               static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(scratch) % alignof(std::int64_t)))
      .separate("cache", cache, rows)
      .separate("cache", cache, addressing.cache_index)
      .separate("cache", cache, addressing.actual_seq_len);
  if (!arguments.ok()) return arguments.status();

  const SlotMap map{.mode = addressing.mode,
                    .tokens = addressing.tokens,
                    .seq = addressing.seq,
                    .block_num = block_num,
                    .block_size = block_size,
                    .table_entries = addressing.cache_index.desc.numel(),
                    .sequences = addressing.actual_seq_len.desc.numel(),
                    .cache_index = static_cast<const std::int64_t*>(addressing.cache_index.data),
                    .actual_seq_len = static_cast<const std::int32_t*>(addressing.actual_seq_len.data)};
  auto* slots = static_cast<std::int64_t*>(scratch);
  const Status status = resolve_slots(map, slots);
  if (!status.ok()) return status;
  const RowAddress address{.mode = addressing.mode,
                           .block_size = block_size,
                           .block_stride = desc.strides[0],
                           .row_width = width,
                           .nz_width = 32 / static_cast<std::int64_t>(element_bytes)};
  const std::size_t row_bytes = static_cast<std::size_t>(width) * element_bytes;
  for (std::int64_t t = 0; t < addressing.tokens; ++t) {
    if (slots[t] < 0) continue;
    write_row(address, slots[t], static_cast<const std::byte*>(rows.data) + static_cast<std::size_t>(t) * row_bytes,
              row_bytes, element_bytes, cache.data);
  }
  return {};
}

}  // namespace mla_prolog
