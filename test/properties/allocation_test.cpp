// `run` allocates nothing.
#include "mla_prolog/explain.hpp"
#include "test/catch.hpp"
#include "test/support/allocations.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

long allocations_of_run(const Plan& plan, const Case& c, const GuardedMemory& workspace) {
  const Tensors tensors = c.tensors();
  const long before = allocations();
  const Status status = run(plan, tensors, workspace.data(), workspace.size());
  const long after = allocations();
  REQUIRE(status.ok());
  return after - before;
}

}  // namespace

TEST_CASE("run allocates nothing on one thread, from the first call on, in every scenario") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (!counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  std::size_t next_mode = 0;
  for_each_case(32, [&](Rng& rng) {
    SpecChoices choices;
    choices.modes = all_modes()[next_mode++ % all_modes().size()];
    const Case c(random_spec(rng, choices));
    PlanOptions options = options_under_test();
    options.threads = 1;
    const Plan plan = make_test_plan(c, options);
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    INFO(c.spec().to_string());
    CHECK(allocations_of_run(plan, c, workspace) == 0);
    CHECK(allocations_of_run(plan, c, workspace) == 0);
  });
}

TEST_CASE("run allocates nothing on several threads once the OpenMP team exists") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (!counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  for_each_case(16, [&](Rng& rng) {
    const Case c(random_spec(rng));
    PlanOptions options = options_under_test();
    options.threads = 3;
    const Plan plan = make_test_plan(c, options);
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    INFO(c.spec().to_string());
    allocations_of_run(plan, c, workspace);  // the runtime makes its team
    CHECK(allocations_of_run(plan, c, workspace) == 0);
  });
}

TEST_CASE("noting the times of a run allocates nothing either") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (!counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  for_each_case(8, [&](Rng& rng) {
    const Case c(random_spec(rng));
    PlanOptions options = options_under_test();
    options.threads = 2;
    const Plan plan = make_test_plan(c, options);
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    Recording recording(plan);
    INFO(c.spec().to_string());
    allocations_of_run(plan, c, workspace);  // the runtime makes its team
    const Tensors tensors = c.tensors();
    const long before = allocations();
    const Status status = run(plan, tensors, workspace.data(), workspace.size(), recording);
    CHECK(allocations() == before);
    CHECK(status.ok());
    CHECK(recording.tiles().empty() == explain(plan).tiles.empty());
  });
}

TEST_CASE("a refused run allocates nothing") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  if (!counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  for_each_case(8, [&](Rng& rng) {
    const Case c(random_spec(rng));
    const Plan plan = make_test_plan(c, options_under_test());
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    Tensors tensors = c.tensors();
    tensors.weight_uk = nullptr;
    const long before = allocations();
    const Status null_tensor = run(plan, tensors, workspace.data(), workspace.size());
    const Status null_workspace = run(plan, c.tensors(), nullptr, 0);
    CHECK(allocations() == before);
    CHECK_FALSE(null_tensor.ok());
    CHECK_FALSE(null_workspace.ok());
  });
}

}  // namespace mla_prolog::test
