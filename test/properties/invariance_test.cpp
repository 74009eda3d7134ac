// What must not matter: the number of threads, where and how often a plan runs, and a workspace larger than needed.
#include <algorithm>
#include <cfenv>
#include <optional>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {

TEST_CASE("the number of threads changes nothing", "[threads]") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(60, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const TensorBytes before = c.outputs_and_caches();
    std::optional<TensorBytes> first;
    for (const int threads : {1, 2, 3, 7, 0}) {
      PlanOptions options = options_under_test();
      options.threads = threads;
      const Plan plan = make_test_plan(c, options);
      CHECK(plan.threads() == (threads == 0 ? default_threads() : threads));
      c.restore_caches(before);
      c.fill_outputs(static_cast<std::byte>(threads));
      run_checked(plan, c);
      INFO(c.spec().to_string() << ", " << threads << " threads");
      if (first) CHECK(difference(c.outputs_and_caches(), *first) == "");
      first = c.outputs_and_caches();
    }
  });
}

TEST_CASE("a plan runs again and again, and its copies outlive it") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(10, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const TensorBytes before = c.outputs_and_caches();
    std::optional<Plan> plan = make_test_plan(c, options_under_test());
    run_checked(*plan, c);
    const TensorBytes first = c.outputs_and_caches();
    const Plan copy = *plan;
    plan.reset();
    for (int repeat = 0; repeat < 3; ++repeat) {
      c.restore_caches(before);
      c.fill_outputs(static_cast<std::byte>(repeat));
      run_checked(copy, c);
      INFO(c.spec().to_string() << ", repeat " << repeat);
      CHECK(difference(c.outputs_and_caches(), first) == "");
    }
    CHECK_FALSE(copy.describe().empty());
  });
}

TEST_CASE("the plan is what was asked for") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  const PlanOptions options = options_under_test();
  for_each_case(20, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const Plan plan = make_test_plan(c, options);
    if (options.backend != Backend::automatic) CHECK(plan.backend() == options.backend);
    if (options.isa != Isa::automatic) CHECK(plan.isa() == options.isa);
    CHECK(plan.backend() != Backend::automatic);
    CHECK(plan.isa() != Isa::automatic);
    const Profile automatic = c.config().weight_quant_mode >= 3 ? Profile::ascend950 : Profile::a2;
    CHECK(plan.profile() == (c.spec().profile == Profile::automatic ? automatic : c.spec().profile));
    CHECK(plan.problem().token_x == c.problem().token_x);
    CHECK(plan.workspace_bytes() % Plan::kWorkspaceAlignment == 0);
  });
}

TEST_CASE("of a larger workspace only the plan's size is used") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(10, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const Plan plan = make_test_plan(c, options_under_test());
    const GuardedMemory workspace(plan.workspace_bytes() + 4096, Plan::kWorkspaceAlignment, GuardedMemory::Side::begin);
    std::ranges::fill(workspace.bytes(), std::byte{0x3C});
    REQUIRE(run(plan, c.tensors(), workspace.data(), workspace.size()).ok());
    const auto rest = workspace.bytes().subspan(plan.workspace_bytes());
    CHECK(std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{0x3C}; }));
  });
}

TEST_CASE("the floating-point environment stays as it is") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(10, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const Plan plan = make_test_plan(c, options_under_test());
    run_checked(plan, c);
    CHECK(std::fegetround() == FE_TONEAREST);
    volatile float small = 0x1p-126F;
    CHECK(small / 4 == 0x1p-128F);  // subnormals are kept
    volatile float subnormal = 0x1p-140F;
    CHECK(subnormal * 0x1p20F == 0x1p-120F);
  });
}

}  // namespace mla_prolog::test
