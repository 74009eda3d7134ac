// Every number of tokens around the widths of blocks and groups, and the head counts and widths that models have,
// against the reference on the whole call: saturating codes, ordinary values, NaN, infinities, zero rows, subnormals.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

// Runs the case on the options under test and on the reference, over different patterns.
void check_equal(const CaseSpec& spec, int threads) {
  const Case c(spec);
  const Case reference = c.twin();
  run_checked(make_test_plan(reference, reference_options()), reference);
  PlanOptions options = options_under_test();
  if (options.threads == 0) options.threads = threads;
  c.fill_outputs(std::byte{0xA5});
  run_checked(make_test_plan(c, options), c);
  INFO(spec.to_string() << ", " << options.threads << " threads, data seed " << spec.data_seed);
  CHECK(difference(c.outputs_and_caches(), reference.outputs_and_caches()) == "");
}

Values some_values(Rng& rng) {
  if (!exact_for_all_products()) return rng.pick({Values::ordinary, Values::saturating, Values::non_finite});
  return rng.pick({Values::ordinary, Values::saturating, Values::non_finite, Values::wild});
}

// A random call of these tokens, small in all else.
CaseSpec small_spec(Rng& rng, const Modes& modes, std::int64_t tokens) {
  SpecChoices choices;
  choices.modes = modes;
  choices.tokens = tokens;
  choices.cache_mode = modes.kv_cache_quant == 3
                           ? rng.pick({CacheMode::pa_bsnd, CacheMode::tnd})
                           : rng.pick({CacheMode::pa_bsnd, CacheMode::pa_nz, CacheMode::pa_blk_bsnd, CacheMode::tnd});
  CaseSpec spec = random_spec(rng, choices);
  spec.values = some_values(rng);
  spec.config.he = 96;
  spec.config.hcq = 64;
  spec.config.n = rng.pick({1, 2, 3});
  spec.config.d = 32;
  return spec;
}

}  // namespace

TEST_CASE("every number of tokens gives the reference's bits", "[sizes]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  Rng rng(seed());
  std::vector<std::int64_t> counts{31, 33, 63, 65};
  for (std::int64_t tokens = 1; tokens <= 17; ++tokens) counts.push_back(tokens);
  std::size_t mode = rng.next() % all_modes().size();
  for (const std::int64_t tokens : counts) {
    for (int i = 0; i < 4; ++i) {
      check_equal(small_spec(rng, all_modes()[mode++ % all_modes().size()], tokens), rng.pick({1, 2, 3}));
    }
  }
  for (const std::int64_t tokens : {1023, 1025}) {
    check_equal(small_spec(rng, all_modes()[mode++ % all_modes().size()], tokens), rng.pick({1, 2, 3}));
  }
}

TEST_CASE("head counts and widths of models and beyond give the reference's bits", "[sizes]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  Rng rng(seed() + 1);
  std::size_t mode = rng.next() % all_modes().size();
  for (const std::int64_t n : {1, 2, 3, 22, 128}) {
    for (const std::int64_t d : {128, 192, 16, 80}) {
      CaseSpec spec = small_spec(rng, all_modes()[mode++ % all_modes().size()], n == 128 ? 2 : rng.pick({1, 3, 7, 13}));
      spec.config.n = n;
      spec.config.d = d;
      // The relaxed domain wants whole NZ groups of columns.
      const std::int64_t width = spec.config.weight_quant_mode == 0 ? 16 : 32;
      if (n * (d + 64) % width != 0) spec.config.d = 96;
      check_equal(spec, rng.pick({1, 2, 3}));
    }
  }
}

}  // namespace mla_prolog::test
