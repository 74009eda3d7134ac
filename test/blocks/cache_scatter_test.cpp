// cache_scatter against the address table (numerics.md section 9), for every cache mode.
#include <algorithm>
#include <cstring>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/oracle_cache.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

constexpr CacheMode kModes[] = {CacheMode::pa_bsnd,   CacheMode::pa_nz, CacheMode::pa_blk_bsnd,
                                CacheMode::pa_blk_nz, CacheMode::bsnd,  CacheMode::tnd};
constexpr DType kDTypes[] = {DType::bf16, DType::int8, DType::float8_e4m3fn, DType::hifloat8};

struct Scatter {
  CacheMode mode = CacheMode::pa_bsnd;
  DType dtype = DType::bf16;
  std::int64_t width = 64;
  std::int64_t tokens = 0;
  std::int64_t seq = 0;  // 0: 2-D tokens
  std::int64_t block_num = 0;
  std::int64_t block_size = 1;
  std::int64_t gap = 0;  // elements between blocks
  std::vector<std::int64_t> index;
  std::vector<std::int32_t> prefix_sums;

  GuardedTensor rows;
  GuardedTensor cache;
  std::vector<std::byte> cache_before;

  bool paged() const { return is_paged(mode); }
  bool by_block() const { return is_block_table(mode); }

  void allocate(Rng& rng) {
    rows = GuardedTensor(TensorDesc::dense(dtype, {tokens, width}));
    TensorDesc desc = mode == CacheMode::tnd ? TensorDesc::dense(dtype, {block_num, 1, width})
                                             : TensorDesc::dense(dtype, {block_num, block_size, 1, width});
    desc.strides[0] = block_size * width + gap;
    cache = GuardedTensor(desc);
    for (std::byte& b : rows.bytes()) b = static_cast<std::byte>(rng.next());
    for (std::byte& b : cache.bytes()) b = static_cast<std::byte>(rng.next());
    cache_before = cache.snapshot();
  }

  Status run() const {
    std::vector<std::int64_t> scratch(cache_scatter_scratch_bytes(tokens) / sizeof(std::int64_t));
    CacheAddressing addressing;
    addressing.mode = mode;
    addressing.tokens = tokens;
    addressing.seq = seq;
    if (paged()) {
      const auto entries = static_cast<std::int64_t>(index.size());
      addressing.cache_index = {TensorDesc::dense(DType::int64, {entries}), index.data()};
      if (by_block() && seq == 0) {
        const auto sequences = static_cast<std::int64_t>(prefix_sums.size());
        addressing.actual_seq_len = {TensorDesc::dense(DType::int32, {sequences}), prefix_sums.data()};
      }
    }
    return cache_scatter(rows.view(), addressing, cache.view(), scratch.data(), scratch.size() * sizeof(std::int64_t));
  }
};

// Element by element, in token order, so that the last token wins.
std::vector<std::byte> expected_cache(const Scatter& s) {
  std::vector<std::byte> cache = s.cache_before;
  const Addressing addressing{s.mode, s.seq, s.block_size, s.index, s.prefix_sums};
  const CacheLayout layout{.mode = s.mode,
                           .element_bytes = element_size(s.dtype),
                           .block_size = s.block_size,
                           .block_stride = s.block_size * s.width + s.gap,
                           .width = s.width};
  for (std::int64_t token = 0; token < s.tokens; ++token) {
    const Slot slot = oracle_slot(addressing, token);
    if (slot.block < 0) continue;
    oracle_write_row(layout, slot, s.rows.data() + static_cast<std::size_t>(token) * layout.row_bytes(), cache.data());
  }
  return cache;
}

Scatter random_scatter(Rng& rng, CacheMode mode) {
  Scatter s;
  s.mode = mode;
  s.dtype = rng.pick(kDTypes);
  s.width = rng.pick({32, 64, 512});
  s.block_size = rng.pick({1, 2, 3, 16, 48});
  s.block_num = rng.integer(1, 9);
  s.gap = rng.chance(0.5) ? rng.integer(0, 3) * 32 : 0;
  if (!s.paged()) {
    s.seq = mode == CacheMode::bsnd ? s.block_size : 0;
    if (mode == CacheMode::tnd) s.block_size = 1;
    s.tokens = s.block_num * s.block_size;
  } else if (!s.by_block()) {
    s.tokens = rng.integer(1, 40);
    const bool duplicates = rng.chance(0.5);
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const std::int64_t last =
          duplicates ? std::min<std::int64_t>(5, s.block_num * s.block_size) - 1 : s.block_num * s.block_size - 1;
      s.index.push_back(rng.chance(0.15) ? -rng.integer(1, 1LL << 40) : rng.integer(0, last));
    }
  } else {
    const std::int64_t batches = rng.integer(1, 4);
    std::int64_t entries = 0;
    if (rng.chance(0.5)) {
      s.seq = rng.integer(1, 30);
      s.tokens = batches * s.seq;
      entries = batches * ((s.seq + s.block_size - 1) / s.block_size);
    } else {
      for (std::int64_t b = 0; b < batches; ++b) {
        const std::int64_t length = rng.chance(0.2) ? 0 : rng.integer(1, 30);
        s.tokens += length;
        s.prefix_sums.push_back(static_cast<std::int32_t>(s.tokens));
        entries += (length + s.block_size - 1) / s.block_size;
      }
      if (rng.chance(0.3)) {  // beyond the last prefix sum: on in the last batch
        const std::int64_t begin = batches > 1 ? s.prefix_sums[static_cast<std::size_t>(batches - 2)] : 0;
        const std::int64_t length = s.tokens - begin;
        const std::int64_t more = rng.integer(1, 20);
        s.tokens += more;
        entries += (length + more + s.block_size - 1) / s.block_size - (length + s.block_size - 1) / s.block_size;
      }
    }
    for (std::int64_t e = 0; e < entries; ++e) {
      s.index.push_back(rng.chance(0.15) ? -rng.integer(1, 3) : rng.integer(0, s.block_num - 1));
    }
  }
  s.allocate(rng);
  return s;
}

}  // namespace

TEST_CASE("cache_scatter writes the rows where the address table says, and nothing else") {
  Rng rng(seed());
  for (const CacheMode mode : kModes) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      const Scatter s = random_scatter(rng, mode);
      const auto rows_before = s.rows.snapshot();
      const Status status = s.run();
      INFO(to_string(mode) << " repeat " << repeat << ": " << message(status));
      REQUIRE(status.ok());
      if (s.cache.snapshot() != expected_cache(s)) {
        FAIL("T " << s.tokens << " S " << s.seq << " blocks " << s.block_num << " x " << s.block_size << " gap "
                  << s.gap << " width " << s.width << " " << to_string(s.dtype));
      }
      CHECK((s.rows.snapshot() == rows_before && s.rows.intact() && s.cache.intact()));
    }
  }
}

TEST_CASE("the documented block-table example: lengths 47, 104, 110, 161 in blocks of 128") {
  Rng rng(seed());
  Scatter s;
  s.mode = CacheMode::pa_blk_bsnd;
  s.block_size = 128;
  s.block_num = 8;
  s.tokens = 422;
  s.prefix_sums = {47, 151, 261, 422};
  s.index = {7, 0, 3, 5, 1};
  s.allocate(rng);
  REQUIRE(s.run().ok());
  const auto row_at = [&](std::int64_t block, std::int64_t offset) {
    const std::byte* begin = s.cache.data() + static_cast<std::size_t>((block * 128 + offset) * 64 * 2);
    return std::vector<std::byte>(begin, begin + 128);
  };
  const auto token = [&](std::int64_t t) {
    const std::byte* begin = s.rows.data() + static_cast<std::size_t>(t * 64 * 2);
    return std::vector<std::byte>(begin, begin + 128);
  };
  CHECK(row_at(7, 0) == token(0));
  CHECK(row_at(7, 46) == token(46));
  CHECK(row_at(0, 0) == token(47));
  CHECK(row_at(3, 109) == token(260));
  CHECK(row_at(5, 0) == token(261));
  CHECK(row_at(5, 127) == token(388));
  CHECK(row_at(1, 0) == token(389));
  CHECK(row_at(1, 32) == token(421));
}

TEST_CASE("an index out of range refuses the whole call and names token, value and capacity") {
  Rng rng(seed());
  for (const CacheMode mode : {CacheMode::pa_bsnd, CacheMode::pa_nz, CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Scatter s = random_scatter(rng, mode);
      if (s.index.empty()) continue;
      const std::size_t at = rng.next() % s.index.size();
      const std::int64_t capacity = s.by_block() ? s.block_num : s.block_num * s.block_size;
      s.index[at] = capacity + (rng.chance(0.5) ? 0 : rng.integer(0, 1LL << 60));
      const Status status = s.run();
      INFO(to_string(mode) << ": " << message(status));
      CHECK(status.code == StatusCode::param_invalid);
      CHECK(status.rule == Rule::cache_index_range);
      CHECK(status.tensor == TensorId::cache_index);
      CHECK(status.value == s.index[at]);
      CHECK(status.limit == capacity);
      if (!s.by_block()) CHECK(status.index == static_cast<std::int64_t>(at));
      for (const std::int64_t number : {status.index, status.value, status.limit}) {
        CHECK(message(status).find(std::to_string(number)) != std::string::npos);
      }
      CHECK(message(status).find("cache_index") != std::string::npos);
      CHECK((s.cache.snapshot() == s.cache_before));
    }
  }
}

TEST_CASE("a block table too short refuses the whole call") {
  Rng rng(seed());
  for (const CacheMode mode : {CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Scatter s = random_scatter(rng, mode);
      if (s.index.empty()) continue;
      s.index.pop_back();
      const Status status = s.run();
      INFO(to_string(mode) << ": " << message(status));
      CHECK(status.rule == Rule::block_table_too_short);
      CHECK(status.value == static_cast<std::int64_t>(s.index.size()));
      CHECK(status.limit == static_cast<std::int64_t>(s.index.size()));
      CHECK((s.cache.snapshot() == s.cache_before));
    }
  }
}

TEST_CASE("decreasing or negative prefix sums refuse the whole call") {
  Rng rng(seed());
  Scatter s;
  s.mode = CacheMode::pa_blk_bsnd;
  s.block_size = 4;
  s.block_num = 8;
  s.tokens = 10;
  s.index = {0, 1, 2, 3, 4, 5, 6, 7};
  s.allocate(rng);
  for (const std::vector<std::int32_t>& sums :
       {std::vector<std::int32_t>{5, 4, 10}, {-1, 5, 10}, {3, 3, 2}, {10, 9}, {INT32_MAX, 10}}) {
    s.prefix_sums = sums;
    const Status status = s.run();
    INFO(message(status));
    CHECK(status.rule == Rule::prefix_sum_decreasing);
    CHECK(message(status).find("actual_seq_len") != std::string::npos);
    CHECK((s.cache.snapshot() == s.cache_before));
  }
  s.prefix_sums = {};
  CHECK_FALSE(s.run().ok());
  CHECK((s.cache.snapshot() == s.cache_before));
}

TEST_CASE("cache_scatter refuses shapes and scratch that do not fit, by name") {
  Rng rng(seed());
  Scatter s;
  s.tokens = 4;
  s.block_num = 3;
  s.block_size = 2;
  s.index = {0, 1, 2, 3};
  s.allocate(rng);
  std::vector<std::int64_t> scratch(cache_scatter_scratch_bytes(4) / sizeof(std::int64_t));
  CacheAddressing addressing;
  addressing.tokens = 4;
  addressing.cache_index = {TensorDesc::dense(DType::int64, {4}), s.index.data()};
  const std::size_t scratch_bytes = scratch.size() * sizeof(std::int64_t);
  const auto check = [&](const char* parameter, const ConstTensorView& rows, const CacheAddressing& where,
                         const TensorView& cache, void* space, std::size_t space_bytes) {
    const Status status = cache_scatter(rows, where, cache, space, space_bytes);
    INFO(message(status));
    CHECK_FALSE(status.ok());
    REQUIRE(status.parameter != nullptr);
    CHECK(std::string(status.parameter) == parameter);
    CHECK((s.cache.snapshot() == s.cache_before));
  };
  const ConstTensorView rows = s.rows.view();
  const TensorView cache = s.cache.view();
  REQUIRE(cache_scatter(rows, addressing, cache, scratch.data(), scratch_bytes).ok());
  std::memcpy(s.cache.data(), s.cache_before.data(), s.cache_before.size());

  check("scratch", rows, addressing, cache, nullptr, scratch_bytes);
  check("scratch", rows, addressing, cache, scratch.data(), scratch_bytes - 1);
  check("scratch", rows, addressing, cache, reinterpret_cast<char*>(scratch.data()) + 4, scratch_bytes);
  const auto with_shape = [&](std::initializer_list<std::int64_t> shape) {
    return TensorView{TensorDesc::dense(DType::bf16, shape), cache.data};
  };
  check("cache", rows, addressing, with_shape({3, 2, 1, 32}), scratch.data(), scratch_bytes);  // another width
  check("cache", rows, addressing, with_shape({3, 2, 64}), scratch.data(), scratch_bytes);     // three dimensions
  check("cache", rows, addressing, with_shape({3, 1, 2, 64}), scratch.data(), scratch_bytes);  // two heads
  check("cache", rows, addressing, with_shape({3, 0, 1, 64}), scratch.data(), scratch_bytes);  // empty blocks
  const std::int64_t huge = std::int64_t{1} << 40;
  check("cache", rows, addressing, with_shape({huge, huge, 1, 64}), scratch.data(), scratch_bytes);
  TensorView squeezed = cache;
  squeezed.desc.strides[0] = 127;  // blocks would overlap
  check("cache", rows, addressing, squeezed, scratch.data(), scratch_bytes);
  squeezed.desc.strides[0] = -128;
  check("cache", rows, addressing, squeezed, scratch.data(), scratch_bytes);

  CacheAddressing wrong = addressing;
  wrong.tokens = 3;
  check("rows", rows, wrong, cache, scratch.data(), scratch_bytes);
  wrong.tokens = -4;
  check("tokens", rows, wrong, cache, scratch.data(), scratch_bytes);
  wrong = addressing;
  wrong.seq = 3;
  check("seq", rows, wrong, cache, scratch.data(), scratch_bytes);
  wrong = addressing;
  wrong.cache_index.desc = TensorDesc::dense(DType::int64, {3});
  check("cache_index", rows, wrong, cache, scratch.data(), scratch_bytes);
  wrong = addressing;
  wrong.mode = CacheMode::bsnd;
  check("cache", rows, wrong, cache, scratch.data(), scratch_bytes);  // 6 rows for 4 tokens
  const ConstTensorView narrow{TensorDesc::dense(DType::bf16, {4, 24}), rows.data};
  check("rows", narrow, addressing, with_shape({3, 2, 1, 24}), scratch.data(), scratch_bytes);
}

TEST_CASE("no tokens or no blocks: nothing is read or written") {
  CacheAddressing addressing;
  addressing.tokens = 0;
  const TensorView cache{TensorDesc::dense(DType::bf16, {3, 2, 1, 64}), nullptr};
  std::vector<std::uint16_t> cells(3 * 2 * 64, 7);
  const TensorView filled{cache.desc, cells.data()};
  CHECK(cache_scatter({TensorDesc::dense(DType::bf16, {0, 64}), nullptr}, addressing, filled, nullptr, 0).ok());
  CHECK(std::count(cells.begin(), cells.end(), 7) == 3 * 2 * 64);
  addressing.tokens = 2;
  const std::vector<std::uint16_t> rows(2 * 64);
  const TensorView no_blocks{TensorDesc::dense(DType::bf16, {0, 2, 1, 64}), nullptr};
  CHECK(cache_scatter({TensorDesc::dense(DType::bf16, {2, 64}), rows.data()}, addressing, no_blocks, nullptr, 0).ok());
}

}  // namespace mla_prolog::test
