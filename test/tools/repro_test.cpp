// What `repro` computes and how it finds a difference.
#include "tools/run/repro.hpp"

#include <algorithm>
#include <set>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "tools/run/inputs.hpp"

namespace mla_prolog::tools {
namespace {

struct Made {
  RunSetting setting;
  Problem problem;
  Profile profile;
  Operands operands;

  explicit Made(const ReproCase& one) : setting(resolve(one.request)) {
    RunInputs inputs(one.request, setting);
    problem = inputs.problem(one.scenario);
    const auto plan = make_plan(problem);
    REQUIRE(plan.ok());
    profile = plan->profile();
    operands = inputs.make(one.scenario, problem, profile, nullptr);
  }
};

}  // namespace

TEST_CASE("sixteen repro cases are the sixteen scenarios, and repeat with their seed") {
  std::set<std::string> scenarios;
  for (std::int64_t i = 0; i < 16; ++i) {
    const ReproCase one = repro_case(7, i, {});
    scenarios.insert(one.scenario.text());
    CHECK(repro_case(7, i, {}).text() == one.text());
    CHECK(repro_case(7, i, {}).request.seed == one.request.seed);
    CHECK(repro_case(8, i, {}).request.seed != one.request.seed);
  }
  CHECK(scenarios.size() == 16);
  CHECK(repro_case(7, 0, 5).request.tokens == 5);
}

TEST_CASE("repro variants cover instruction sets, threads, tiles and splits, and samples begin with every engine") {
  ReproCase one = repro_case(3, 4, 9);
  one.request.cache_mode = "PA_BSND";
  one.request.block_size = 16;
  const Made made(one);
  const std::vector<Variant> variants = repro_variants(made.problem, made.profile);
  CHECK(variants.front().engine == Backend::reference);
  std::set<std::pair<Backend, Isa>> kinds;
  std::set<int> threads;
  std::set<std::int64_t> blocks;
  std::set<Split> splits;
  for (const Variant& variant : variants) {
    kinds.emplace(variant.engine, variant.isa);
    threads.insert(variant.threads);
    blocks.insert(variant.block_tokens);
    splits.insert(variant.split);
  }
  for (const IsaInfo& info : list_isas()) {
    if (!info.available) continue;
    INFO(to_string(info.isa));
    CHECK(kinds.contains({info.isa == Isa::scalar ? Backend::reference : Backend::cpu, info.isa}));
  }
  CHECK(threads == std::set<int>{1, 2, 3, 7, 16});
  if (kinds.size() > 1) CHECK(blocks.size() > 2);
  CHECK(splits.size() == 4);

  const std::vector<Variant> chosen = sample(variants, kinds.size() + 1, 5);
  std::set<std::pair<Backend, Isa>> sampled;
  for (const Variant& variant : chosen) sampled.emplace(variant.engine, variant.isa);
  CHECK(sampled == kinds);
}

TEST_CASE("digests of repro see any byte of any result, and splits compute the same") {
  ReproCase one = repro_case(3, 4, 6);
  for (const char* mode : {"PA_BSND", "PA_NZ", "TND", "PA_BLK_BSND", "PA_BLK_NZ"}) {
    one.request.cache_mode = mode;
    one.request.sequence_ends.clear();
    if (std::string(mode).starts_with("PA_BLK")) one.request.sequence_ends = {1, 1, 4, 6};
    one.request.block_size.reset();
    const Made made(one);
    Variant variant;
    const Digests whole = compute(made.operands, made.profile, variant);
    CHECK(whole.size() >= 4);
    for (const Split split : {Split::first_apart, Split::halves, Split::all_apart}) {
      variant.split = split;
      CHECK(first_difference(whole, compute(made.operands, made.profile, variant)).empty());
    }
    // Another input gives other values, in the tensor that depends on it.
    Made changed(one);
    changed.operands[TensorId::rope_cos].bytes()[1] ^= std::byte{0x01};
    variant.split = Split::none;
    const Digests other = compute(changed.operands, made.profile, variant);
    const std::string tensor = first_difference(whole, other);
    INFO(tensor);
    CHECK_FALSE(tensor.empty());
    CHECK(combined(whole) != combined(other));
  }
  CHECK(first_difference({{"query", 1}}, {}) == "number of tensors");
}

TEST_CASE("with block tables repro cuts where a sequence or a block begins, and reaches the same addresses") {
  ReproCase one = repro_case(3, 4, 65);
  one.request.block_size = 16;
  for (const char* mode : {"PA_BLK_BSND", "PA_BLK_NZ"}) {
    one.request.cache_mode = mode;
    one.request.sequence_ends = {20, 20, 21, 65};
    Made made(one);
    CHECK(pieces(made.operands) == std::vector<std::int64_t>{0, 16, 20, 21, 37, 53, 65});
    // Blocks in no order; the lengths of the sequences take 2 + 0 + 1 + 3 of them.
    const auto table = made.operands[TensorId::cache_index].as<std::int64_t>();
    REQUIRE(table.size() == 6);
    std::ranges::reverse(table);
    std::swap(table[0], table[3]);
    const auto cache = made.operands[TensorId::kv_cache].bytes();
    REQUIRE(std::ranges::all_of(cache, [](std::byte b) { return b == std::byte{0}; }));
    Variant variant;
    const Digests whole = compute(made.operands, made.profile, variant);
    for (const Split split : {Split::first_apart, Split::halves, Split::all_apart}) {
      variant.split = split;
      CHECK(first_difference(whole, compute(made.operands, made.profile, variant)).empty());
    }
    // The caches' digests know where rows are.
    std::swap(table[1], table[4]);
    CHECK(first_difference(whole, compute(made.operands, made.profile, variant)) == "kv_cache");
  }
}

}  // namespace mla_prolog::tools
