// Offsets beyond 2^31 bytes and elements: caches of many gigabytes and tokens far apart, in sparse mappings of which
// only the addressed pages may ever be touched.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"
#include "test/support/token_results.hpp"

namespace mla_prolog::test {
namespace {

// Zeroes that take no memory until touched.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(base);
    madvise(base, bytes, MADV_NOHUGEPAGE);
  }
  ~SparseMemory() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  std::byte* data() const { return base_; }

  // Pages that were read or written.
  std::size_t touched_pages() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident((bytes_ + page - 1) / page);
    if (mincore(base_, bytes_, resident.data()) != 0) return ~std::size_t{0};
    return static_cast<std::size_t>(
        std::count_if(resident.begin(), resident.end(), [](unsigned char r) { return (r & 1) != 0; }));
  }

 private:
  std::size_t bytes_;
  std::byte* base_ = nullptr;
};

constexpr std::int64_t kTokens = 5;

CaseSpec small_spec(Rng& rng, const Modes& modes, CacheMode mode) {
  SpecChoices choices;
  choices.modes = modes;
  choices.cache_mode = mode;
  choices.tokens = kTokens;
  choices.values = Values::ordinary;
  choices.strides = false;
  CaseSpec spec = random_spec(rng, choices);
  spec.config.block_size = 16;
  spec.config.block_num = 8;
  return spec;
}

// Runs `c` with caches of the given first-dimension size and strides (elements) and compares the rows at `slots`.
void check_far_slots(const Case& c, std::int64_t block_num, std::int64_t kv_stride, std::int64_t kr_stride,
                     const std::vector<std::int64_t>& slots) {
  const TensorBytes expected = from_single_tokens(c, reference_options());
  Problem problem = c.problem();
  problem.kv_cache.shape[0] = problem.kr_cache.shape[0] = block_num;
  if (c.spec().per_tile()) problem.kr_cache.shape[0] = 0;
  problem.kv_cache.strides[0] = kv_stride;
  if (!c.spec().per_tile()) problem.kr_cache.strides[0] = kr_stride;
  PlanOptions options = options_under_test();
  options.profile = c.spec().profile;
  const Result<Plan> plan = make_plan(problem, options);
  INFO(c.spec().to_string() << " stretched to " << problem.kv_cache.to_string() << ": " << plan.error().message);
  REQUIRE(plan.ok());

  const SparseMemory kv(problem.kv_cache.extent_bytes());
  const SparseMemory kr(std::max<std::size_t>(problem.kr_cache.extent_bytes(), 1));
  if (kv.data() == nullptr || kr.data() == nullptr) MLA_PROLOG_SKIP("no address space for a sparse mapping");
  Tensors tensors = c.tensors();
  tensors.kv_cache = kv.data();
  tensors.kr_cache = c.spec().per_tile() ? nullptr : kr.data();
  tensors.cache_index = slots.data();
  const GuardedMemory workspace(plan->workspace_bytes(), Plan::kWorkspaceAlignment);
  const Status status = run(*plan, tensors, workspace.data(), workspace.size());
  INFO(message(status));
  REQUIRE(status.ok());

  // What lies at the far slots is what the small caches have at theirs.
  const Addressing near = c.addressing();
  std::size_t kv_pages = 0;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const std::int64_t slot = slots[static_cast<std::size_t>(t)];
    for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
      if (!c.has_cache(id)) continue;
      const CacheLayout here = c.cache_layout(id);
      CacheLayout there = here;
      there.block_stride = problem[id].strides[0];
      const auto row = oracle_read_row(there, {slot / there.block_size, slot % there.block_size},
                                       static_cast<const std::byte*>(tensors.get(id)));
      const auto& bytes = expected[static_cast<std::size_t>(id)];
      INFO("token " << t << " slot " << slot << " of " << to_string(id));
      CHECK((row == oracle_read_row(here, oracle_slot(near, t), bytes.data())));
    }
    // A row of 1 KB at most meets two pages, or in NZ form one page for each of its 32-byte groups.
    kv_pages += is_nz_cache(c.config().cache_mode) ? 33U : 2U;
  }
  CHECK(kv.touched_pages() <= kv_pages);
  CHECK(kr.touched_pages() <= kv_pages);
}

// Distinct near slots for `c`.
void place_near(const Case& c) {
  std::vector<std::int64_t> index(kTokens);
  std::iota(index.begin(), index.end(), 3);
  std::memcpy(c.data(TensorId::cache_index), index.data(), index.size() * sizeof(std::int64_t));
}

}  // namespace

TEST_CASE("caches of more than 4 GiB: slots near 2^31 and 2^32 bytes and at the very end") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (sizeof(void*) < 8) MLA_PROLOG_SKIP("needs a 64-bit address space");
  Rng rng(seed());
  for (const Modes& modes : {Modes{0, 0}, Modes{1, 2}, Modes{1, 3}, Modes{2, 1}, Modes{5, 3}}) {
    for (const CacheMode mode : {CacheMode::pa_bsnd, CacheMode::pa_nz}) {
      if (mode == CacheMode::pa_nz && modes.kv_cache_quant == 3) continue;
      const Case c(small_spec(rng, modes, mode));
      place_near(c);
      const CacheLayout kv = c.cache_layout(TensorId::kv_cache);
      const std::int64_t block_bytes = kv.block_stride * static_cast<std::int64_t>(kv.element_bytes);
      const std::int64_t blocks = (std::int64_t{9} << 29) / block_bytes + 1;  // 4.5 GiB
      const auto slot_at = [&](std::int64_t byte) { return byte / block_bytes * 16 + 5; };
      const std::vector<std::int64_t> slots{slot_at(std::int64_t{1} << 31),
                                            slot_at((std::int64_t{1} << 31) - block_bytes) + 1,
                                            slot_at((std::int64_t{1} << 32) + 4096), 0, blocks * 16 - 1};
      check_far_slots(c, blocks, kv.block_stride, c.problem().kr_cache.strides[0], slots);
    }
  }
}

TEST_CASE("blocks that lie gigabytes apart: strides beyond 2^31 elements") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (sizeof(void*) < 8) MLA_PROLOG_SKIP("needs a 64-bit address space");
  Rng rng(seed());
  for (const Modes& modes : {Modes{0, 0}, Modes{2, 1}, Modes{2, 3}}) {
    const Case c(small_spec(rng, modes, CacheMode::pa_bsnd));
    place_near(c);
    const std::int64_t stride = (std::int64_t{1} << 31) + 100;
    check_far_slots(c, 8, stride, stride + 11, {0, 7 * 16 + 15, 4 * 16, 1 * 16 + 2, 6 * 16 + 9});
  }
}

TEST_CASE("token_x rows that lie gigabytes apart") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (sizeof(void*) < 8) MLA_PROLOG_SKIP("needs a 64-bit address space");
  Rng rng(seed());
  for (const Modes& modes : {Modes{0, 0}, Modes{2, 0}, Modes{3, 0}}) {
    const Case c(small_spec(rng, modes, CacheMode::pa_bsnd));
    place_near(c);
    const TensorBytes expected = from_single_tokens(c, reference_options());
    Problem problem = c.problem();
    problem.token_x.strides[0] = (std::int64_t{1} << 30) + 33;
    PlanOptions options = options_under_test();
    options.profile = c.spec().profile;
    const Result<Plan> plan = make_plan(problem, options);
    INFO(plan.error().message);
    REQUIRE(plan.ok());
    const SparseMemory x(problem.token_x.extent_bytes());
    if (x.data() == nullptr) MLA_PROLOG_SKIP("no address space for a sparse mapping");
    const std::size_t size = element_size(problem.token_x.dtype);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      const auto row = c.token_row(TensorId::token_x, t);
      std::memcpy(x.data() + static_cast<std::size_t>(t * problem.token_x.strides[0]) * size, row.data(), row.size());
    }
    Tensors tensors = c.tensors();
    tensors.token_x = x.data();
    const GuardedMemory workspace(plan->workspace_bytes(), Plan::kWorkspaceAlignment);
    const Status status = run(*plan, tensors, workspace.data(), workspace.size());
    INFO(c.spec().to_string() << ": " << message(status));
    REQUIRE(status.ok());
    CHECK(difference(c.outputs_and_caches(), expected) == "");
    CHECK(x.touched_pages() <= 2 * kTokens);
  }
}

}  // namespace mla_prolog::test
