// One plan in several threads at once, each with its own workspace, and inside an OpenMP parallel region. Run under the
// thread sanitizer too.
#include <atomic>
#include <thread>
#include <vector>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

// The results of a call, and as many calls of the same inputs with outputs and caches of their own.
struct Calls {
  std::vector<Case> twins;
  TensorBytes expected;
  Plan plan;  // last: making it fills the others

  Calls(Rng& rng, int threads, std::size_t count) : plan(make(rng, threads, count)) {}

  // Empty when every call gave the expected bytes.
  std::string first_difference() const {
    for (const Case& twin : twins) {
      const std::string text = difference(twin.outputs_and_caches(), expected);
      if (!text.empty() || !twin.intact()) return twin.spec().to_string() + ": " + text;
    }
    return {};
  }

 private:
  Plan make(Rng& rng, int threads, std::size_t count) {
    const Case c(random_spec(rng));
    for (std::size_t i = 0; i < count; ++i) twins.push_back(c.twin());
    PlanOptions options = options_under_test();
    options.threads = threads;
    Plan made = make_test_plan(c, options);
    run_checked(made, c);
    expected = c.outputs_and_caches();
    return made;
  }
};

}  // namespace

TEST_CASE("several threads run one plan at once") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(15, [&](Rng& rng) {
    const Calls calls(rng, rng.pick({1, 2, 3}), 4);
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (const Case& twin : calls.twins) {
      threads.emplace_back([&] {
        if (!run_quietly(calls.plan, twin).ok()) ++failures;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(calls.first_difference() == "");
  });
}

TEST_CASE("several threads plan and run different problems at once") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(8, [&](Rng& rng) {
    const Calls first(rng, 2, 2);
    const Calls second(rng, 1, 2);
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (const Calls* calls : {&first, &second}) {
      for (const Case& twin : calls->twins) {
        threads.emplace_back([&failures, calls, &twin] {
          PlanOptions options = options_under_test();
          options.threads = calls->plan.threads();
          options.profile = twin.spec().profile;
          const Result<Plan> plan = make_plan(twin.problem(), options);
          if (!plan.ok() || !run_quietly(*plan, twin).ok()) ++failures;
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(first.first_difference() == "");
    CHECK(second.first_difference() == "");
  });
}

TEST_CASE("inside an OpenMP parallel region each thread's call is right") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
#if defined(_OPENMP)
  for_each_case(10, [&](Rng& rng) {
    const Calls calls(rng, 3, 4);
    std::atomic<int> failures{0};
    const auto count = static_cast<int>(calls.twins.size());
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < count; ++i) {
      if (!run_quietly(calls.plan, calls.twins[static_cast<std::size_t>(i)]).ok()) ++failures;
    }
    CHECK(failures == 0);
    CHECK(calls.first_difference() == "");
  });
#else
  MLA_PROLOG_SKIP("built without OpenMP");
#endif
}

}  // namespace mla_prolog::test
