// Calls with nothing to compute, or nothing to store: no tokens, no blocks, null pointers.
#include <algorithm>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"
#include "test/support/token_results.hpp"

namespace mla_prolog::test {
namespace {

// A spec without tokens: T = 0, or B = 0, or S = 0.
CaseSpec without_tokens(Rng& rng, int way) {
  CaseSpec spec = random_spec(rng);
  ProblemConfig& c = spec.config;
  if (way == 0 && c.cache_mode == CacheMode::bsnd) c.cache_mode = CacheMode::tnd;
  if (way != 0 && c.cache_mode == CacheMode::tnd) c.cache_mode = CacheMode::bsnd;
  c.batched = way != 0;
  c.tokens = 0;
  c.batch = way == 1 ? 0 : 3;
  c.seq = way == 2 ? 0 : 5;
  c.block_size = std::max<std::int64_t>(c.block_size, 1);
  if (c.block_num == 0) c.block_num = 2;
  spec.prefix_sums.clear();
  spec.distinct_slots = false;  // the table may have more entries than there are blocks
  if (is_block_table(c.cache_mode) && !c.batched) {
    c.sequences = rng.integer(0, 2);
    c.block_table_entries = rng.integer(0, 3);
    spec.prefix_sums.assign(static_cast<std::size_t>(c.sequences), 0);
  }
  return spec;
}

}  // namespace

TEST_CASE("no tokens: nothing is read or written, whatever the pointers") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(90, [&](Rng& rng) {
    const Case c(without_tokens(rng, static_cast<int>(rng.integer(0, 2))));
    INFO(c.spec().to_string());
    const TensorBytes before = c.outputs_and_caches();
    const Plan plan = make_test_plan(c, options_under_test());
    CHECK(plan.workspace_bytes() == 0);
    run_checked(plan, c);
    CHECK(run(plan, Tensors{}, nullptr, 0).ok());
    CHECK(difference(c.outputs_and_caches(), before) == "");
    CHECK_FALSE(plan.describe().empty());
  });
}

TEST_CASE("the strict domain accepts a call without outputs whatever its shapes, and running it does nothing") {
  CaseSpec spec;
  spec.config.cache_mode = CacheMode::tnd;
  spec.config.query_norm = true;
  Problem problem = describe(spec.config);
  problem.rope_sin = TensorDesc::dense(DType::bf16, {3, 5, 7});
  problem.weight_dq = TensorDesc::nz(DType::bf16, 48, 16);
  problem.attributes.cache_mode = "no such mode";
  PlanOptions options = options_under_test();
  options.domain = Domain::strict;
  const Result<Plan> plan = make_plan(problem, options);
  INFO(plan.error().message);
  REQUIRE(plan.ok());
  CHECK(plan->workspace_bytes() == 0);
  CHECK(plan->cann_workspace_bytes() == 0);
  CHECK(run(*plan, {}, nullptr, 0).ok());
  CHECK_FALSE(plan->describe().empty());
}

TEST_CASE("no blocks: queries are computed, indices and tables are not read") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(60, [&](Rng& rng) {
    CaseSpec spec = random_spec(rng);
    if (!is_paged(spec.config.cache_mode)) {
      spec.config.cache_mode = CacheMode::pa_bsnd;
      spec.config.block_size = 16;
    }
    spec.config.block_num = 0;
    for (auto& sum : spec.prefix_sums) sum = -sum;  // would be refused if it were read
    const Case c(spec);
    INFO(c.spec().to_string());
    const Plan plan = make_test_plan(c, options_under_test());
    const TensorBytes expected = from_single_tokens(c, reference_options());
    run_checked(plan, c);
    CHECK(difference(c.outputs_and_caches(), expected) == "");

    c.fill_outputs(std::byte{0});
    Tensors tensors = c.tensors();
    tensors.cache_index = nullptr;
    tensors.actual_seq_len = nullptr;
    tensors.kv_cache = nullptr;
    tensors.kr_cache = nullptr;
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    REQUIRE(run(plan, tensors, workspace.data(), workspace.size()).ok());
    CHECK(difference(c.outputs_and_caches(), expected) == "");
  });
}

TEST_CASE("tokens that are all skipped write no cache byte but all queries") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(20, [&](Rng& rng) {
    CaseSpec spec = random_spec(rng);
    if (!is_paged(spec.config.cache_mode)) return;
    const Case c(spec);
    const auto index = c.memory(TensorId::cache_index);
    std::ranges::fill(index, std::byte{0xFF});  // -1
    INFO(c.spec().to_string());
    const TensorBytes expected = from_single_tokens(c, reference_options());
    const TensorBytes before = c.outputs_and_caches();
    run_checked(make_test_plan(c, options_under_test()), c);
    const TensorBytes after = c.outputs_and_caches();
    CHECK(difference(after, expected) == "");
    for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
      CHECK((after[static_cast<std::size_t>(id)] == before[static_cast<std::size_t>(id)]));
    }
  });
}

TEST_CASE("a zero row: zero queries, and the values the formulas give for its scales") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for (const Modes& modes : all_modes()) {
    Rng rng(seed());
    SpecChoices choices;
    choices.modes = modes;
    choices.tokens = 3;
    choices.cache_mode = CacheMode::tnd;
    choices.values = Values::ordinary;
    choices.strides = false;
    CaseSpec spec = random_spec(rng, choices);
    spec.rmsnorm_epsilon_cq = spec.rmsnorm_epsilon_ckv = 1e-5;  // 0 would give 0/0
    spec.config.query_norm = true;
    const Case c(spec);
    std::ranges::fill(c.token_row(TensorId::token_x, 1), std::byte{0});
    INFO(c.spec().to_string());
    run_checked(make_test_plan(c, options_under_test()), c);
    const auto is_zero = [](std::span<const std::byte> row) {
      // +0 or -0 in any format used here
      return std::ranges::all_of(row, [](std::byte b) { return b == std::byte{0} || b == std::byte{0x80}; });
    };
    CHECK(is_zero(c.token_row(TensorId::query, 1)));
    CHECK(is_zero(c.token_row(TensorId::query_norm, 1)));
    CHECK_FALSE(is_zero(c.token_row(TensorId::query, 0)));
    if (modes.weight_quant != 0) CHECK(is_zero(c.token_row(TensorId::dequant_scale_q_norm, 1)));
    const auto rope = c.token_row(TensorId::query_rope, 1);
    if (modes.kv_cache_quant == 1) {
      CHECK(is_zero(c.token_row(TensorId::dequant_scale_q_nope, 1)));
      for (std::size_t i = 0; i < rope.size(); i += 2) {  // 0 * (Ckv/0) is NaN, stored as the quiet NaN
        if (rope[i] != std::byte{0xC0} || rope[i + 1] != std::byte{0x7F}) FAIL("query_rope byte " << i);
      }
    } else {
      CHECK(is_zero(rope));
    }
    const auto kv = oracle_read_row(c.cache_layout(TensorId::kv_cache), {1, 0}, c.data(TensorId::kv_cache));
    CHECK(is_zero({kv.data(), std::min<std::size_t>(kv.size(), 512)}));
    if (modes.kv_cache_quant == 3 && modes.weight_quant >= 3) {  // the floor's scale, little endian, four times
      const std::uint32_t scale = modes.weight_quant == 5 ? 0x3151B717U : 0x346FACADU;
      for (std::size_t i = 0; i < 16; ++i) {
        CHECK(std::to_integer<std::uint32_t>(kv[640 + i]) == ((scale >> (8 * (i % 4))) & 0xFF));
      }
    }
  }
}

}  // namespace mla_prolog::test
