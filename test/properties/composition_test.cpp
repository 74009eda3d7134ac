// A call is its tokens: however they are grouped into calls, laid out, ordered and addressed, each gets the bits it
// gets alone, and nothing else changes.
#include <algorithm>
#include <numeric>
#include <vector>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"
#include "test/support/token_results.hpp"

namespace mla_prolog::test {
namespace {

PlanOptions with_random_threads(Rng& rng) {
  PlanOptions options = options_under_test();
  if (options.threads == 0) options.threads = rng.pick({1, 2, 3, 7});
  return options;
}

// Copies the outputs of a part to the rows its tokens have in the whole.
void copy_outputs(const Case& part, const std::vector<std::int64_t>& tokens, const Case& whole) {
  for (const TensorId id : all_tensors()) {
    if (!is_output(id)) continue;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::ranges::copy(part.token_row(id, static_cast<std::int64_t>(i)), whole.token_row(id, tokens[i]).begin());
    }
  }
}

}  // namespace

TEST_CASE("a call equals its tokens computed one by one, in every scenario", "[composition]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  std::size_t next_mode = 0;
  for_each_case(300, [&](Rng& rng) {
    SpecChoices choices;
    choices.modes = all_modes()[next_mode++ % all_modes().size()];
    const Case c(random_spec(rng, choices));
    const TensorBytes before = c.outputs_and_caches();
    const TensorBytes expected = from_single_tokens(c, reference_options());
    const Plan plan = make_test_plan(c, with_random_threads(rng));
    INFO(c.spec().to_string() << ", " << plan.threads() << " threads");
    run_checked(plan, c);
    CHECK(difference(c.outputs_and_caches(), expected) == "");
    // Once more, over another pattern: every byte of the outputs is written, none depends on what was there.
    c.restore_caches(before);
    c.fill_outputs(std::byte{0x00});
    run_checked(plan, c);
    CHECK(difference(c.outputs_and_caches(), expected) == "");
  });
}

TEST_CASE("splitting the tokens into calls changes nothing", "[composition]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(100, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const TensorBytes before = c.outputs_and_caches();
    const PlanOptions options = with_random_threads(rng);
    INFO(c.spec().to_string());
    run_checked(make_test_plan(c, options), c);
    const TensorBytes whole = c.outputs_and_caches();
    c.restore_caches(before);
    c.fill_outputs(std::byte{0xA5});
    for (std::int64_t first = 0; first < c.tokens();) {
      std::vector<std::int64_t> tokens(static_cast<std::size_t>(rng.integer(1, c.tokens() - first)));
      std::iota(tokens.begin(), tokens.end(), first);
      const Case part = c.part(tokens);
      run_checked(make_test_plan(part, options), part);
      copy_outputs(part, tokens, c);
      first += static_cast<std::int64_t>(tokens.size());
    }
    CHECK(difference(c.outputs_and_caches(), whole) == "");
  });
}

TEST_CASE("permuting the tokens permutes the outputs and leaves the caches alike", "[composition]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(60, [&](Rng& rng) {
    CaseSpec spec = random_spec(rng);
    spec.distinct_slots = true;
    spec.config.block_num = std::max<std::int64_t>(spec.config.block_num, spec.tokens());
    const Case c(spec);
    const TensorBytes before = c.outputs_and_caches();
    const PlanOptions options = with_random_threads(rng);
    INFO(c.spec().to_string());
    run_checked(make_test_plan(c, options), c);
    const TensorBytes in_order = c.outputs_and_caches();
    c.restore_caches(before);
    c.fill_outputs(std::byte{0xA5});
    std::vector<std::int64_t> order(static_cast<std::size_t>(c.tokens()));
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(order);
    const Case permuted = c.part(order);
    run_checked(make_test_plan(permuted, options), permuted);
    copy_outputs(permuted, order, c);
    CHECK(difference(c.outputs_and_caches(), in_order) == "");
  });
}

TEST_CASE("a bad token never changes another", "[composition]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(60, [&](Rng& rng) {
    SpecChoices choices;
    choices.values = Values::ordinary;
    CaseSpec spec = random_spec(rng, choices);
    spec.distinct_slots = true;
    spec.config.block_num = std::max<std::int64_t>(spec.config.block_num, spec.tokens());
    const Case c(spec);
    spec.values = Values::wild;  // whatever happens to the other case's tokens
    if (!exact_for_all_products()) spec.values = Values::non_finite;
    const Case wild(spec);
    const Plan plan = make_test_plan(c, with_random_threads(rng));
    const TensorBytes before = c.outputs_and_caches();
    run_checked(plan, c);
    const TensorBytes good = c.outputs_and_caches();

    const std::int64_t bad = rng.integer(0, c.tokens() - 1);
    c.copy_token(bad, wild, rng.integer(0, c.tokens() - 1));
    const auto x = c.token_row(TensorId::token_x, bad);
    if (rng.chance(0.5)) std::ranges::generate(x, [&] { return static_cast<std::byte>(rng.next() | 0x7F); });
    c.restore_caches(before);
    run_checked(plan, c);
    INFO(c.spec().to_string() << ", token " << bad << " is bad");
    // Put the good token's results back: then all must be as it was.
    for (const TensorId id : all_tensors()) {
      if (!is_output(id) || !c.problem()[id].present()) continue;
      const auto row = c.token_row(id, bad);
      const auto offset = row.data() - c.memory(id).data();
      std::copy_n(good[static_cast<std::size_t>(id)].begin() + offset, row.size(), row.begin());
    }
    if (c.has_cache(TensorId::kv_cache)) {
      const Slot slot = oracle_slot(c.addressing(), bad);
      const Case was = c.twin();
      was.restore_caches(good);
      for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
        if (!c.has_cache(id)) continue;
        const auto row = oracle_read_row(c.cache_layout(id), slot, was.data(id));
        oracle_write_row(c.cache_layout(id), slot, row.data(), c.data(id));
      }
    }
    CHECK(difference(c.outputs_and_caches(), good) == "");
  });
}

}  // namespace mla_prolog::test
