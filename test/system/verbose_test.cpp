// MLA_PROLOG_VERBOSE: one line on stderr for each plan, and never a byte from anything else.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "test/onednn/operator_run.hpp"

namespace mla_prolog::test {
namespace {

constexpr const char* kVariable = "MLA_PROLOG_VERBOSE";

// What `action` writes to file descriptor 2, by whatever means.
std::string stderr_of(const std::function<void()>& action) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  REQUIRE(saved >= 0);
  REQUIRE(dup2(fileno(file), STDERR_FILENO) >= 0);
  action();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

// A plan for the options, and what making it printed.
struct Told {
  Result<Plan> plan;
  std::string text;
};
Told told(const Problem& problem, const PlanOptions& options) {
  std::optional<Result<Plan>> plan;
  std::string text = stderr_of([&] { plan.emplace(make_plan(problem, options)); });
  return {std::move(*plan), std::move(text)};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a plan tells what computes it when asked to, in one line, and run tells nothing") {
  const Problem problem = describe(small_config(2, 1, 5));
  OperatorData data(problem, 1, false);
  for (const Backend backend : {Backend::reference, Backend::automatic, Backend::onednn}) {
    setenv(kVariable, "1", 1);
    const Told one = told(problem, {.backend = backend, .threads = 2});
    INFO(one.text);
    if (!one.plan.ok()) {
      CHECK(backend == Backend::onednn);
      CHECK(one.text.empty());
      continue;
    }
    const Plan& plan = *one.plan;
    CHECK(std::ranges::count(one.text, '\n') == 1);
    CHECK(one.text.starts_with("mla_prolog: plan: "));
    CHECK(one.text.ends_with("\n"));
    CHECK(has(one.text, "scenario w2kv1, "));
    CHECK(has(one.text, "tokens 5, "));
    CHECK(has(one.text, "isa " + std::string(to_string(plan.isa())) + ", threads 2, "));
    CHECK(has(one.text, "backend " + std::string(to_string(plan.backend())) + ", "));
    CHECK(has(one.text, "workspace " + std::to_string(plan.workspace_bytes()) + " bytes"));
    if (plan.backend() != Backend::reference) {
      for (const char* matmul : {"A: ", "C: ", "D: native"}) CHECK(has(one.text, matmul));
    }
    if (plan.backend() == Backend::onednn) {
      CHECK(has(one.text, "oneDNN (s8s8s32 "));
      CHECK(has(one.text, "exact as probed"));
      CHECK(has(one.text, "bf16 sums in another order"));  // why D is native
    }
    PreparedWeights weights;
    CHECK(stderr_of([&] { weights = prepared_for(plan, data); }).empty());
    CHECK(stderr_of([&] { results_of(plan, weights, data); }).empty());
  }
}

TEST_CASE("without MLA_PROLOG_VERBOSE nothing is printed") {
  const Problem problem = describe(small_config(2, 1, 5));
  unsetenv(kVariable);
  CHECK(told(problem, {}).text.empty());
  for (const char* value : {"", "0", "no"}) {
    setenv(kVariable, value, 1);
    CHECK(told(problem, {}).text.empty());
  }
  unsetenv(kVariable);
}

TEST_CASE("a plan with nothing to compute and a refused one: a line, and none") {
  setenv(kVariable, "1", 1);
  const Told empty = told(describe(small_config(0, 0, 0)), {});
  INFO(empty.plan.error().message);
  REQUIRE(empty.plan.ok());
  CHECK(has(empty.text, "; nothing to compute; "));
  CHECK(told(describe(small_config(0, 0, 1)), {.threads = -1}).text.empty());
  unsetenv(kVariable);
}

}  // namespace mla_prolog::test
