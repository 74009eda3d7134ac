// After a fork the child computes right results and does not hang, whatever the parent did with OpenMP before. Apart
// from the other tests because the first case needs a process that has not planned anything yet.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "mla_prolog/blocks.hpp"
#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

constexpr int kPassed = 7;  // not what a crash or an early exit gives
constexpr unsigned kSeconds = 120;

// Runs `work` in a child and returns its exit status; a hanging child is killed by an alarm.
int exit_status_of_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    _exit(work() ? kPassed : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool compute(const Case& c, const TensorBytes& expected) {
  PlanOptions options = options_under_test();
  options.threads = 2;
  options.profile = c.spec().profile;
  const Result<Plan> plan = make_plan(c.problem(), options);
  return plan.ok() && run_quietly(*plan, c).ok() && difference(c.outputs_and_caches(), expected).empty();
}

Case some_case() {
  Rng rng(seed());
  SpecChoices choices;
  choices.tokens = 6;
  choices.cache_mode = CacheMode::pa_bsnd;
  return Case(random_spec(rng, choices));
}

// What another process computes, so that this one has not planned yet.
TensorBytes computed_elsewhere(const Case& c) {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  const pid_t child = fork();
  if (child == 0) {
    PlanOptions options = reference_options();
    options.profile = c.spec().profile;
    const Result<Plan> plan = make_plan(c.problem(), options);
    const bool ok = plan.ok() && run_quietly(*plan, c).ok();
    const TensorBytes results = c.outputs_and_caches();
    bool sent = ok;
    for (const auto& bytes : results) {
      std::size_t done = 0;
      while (sent && done < bytes.size()) {
        const ssize_t n = write(channel[1], bytes.data() + done, bytes.size() - done);
        sent = n > 0;
        if (sent) done += static_cast<std::size_t>(n);
      }
    }
    _exit(sent ? 0 : 1);
  }
  close(channel[1]);
  TensorBytes results = c.outputs_and_caches();
  for (auto& bytes : results) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = read(channel[0], bytes.data() + done, bytes.size() - done);
      REQUIRE(n > 0);
      done += static_cast<std::size_t>(n);
    }
  }
  close(channel[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return results;
}

}  // namespace

TEST_CASE("a child plans and runs although its parent used OpenMP before it ever planned") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  const Case c = some_case();
  const TensorBytes expected = computed_elsewhere(c);
  const Case again = c.twin();
  std::atomic<int> members{0};
#if defined(_OPENMP)
#pragma omp parallel num_threads(2)
#endif
  ++members;
  CHECK(members >= 1);
  CHECK(exit_status_of_child([&] { return compute(again, expected); }) == kPassed);
  // The parent goes on as before.
  CHECK(compute(c, expected));
}

TEST_CASE("a child runs its parent's plan after the parent has run it") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  const Case c = some_case();
  const Case for_child = c.twin();
  const Case for_parent = c.twin();
  PlanOptions options = options_under_test();
  options.threads = 3;
  const Plan plan = make_test_plan(c, options);
  run_checked(plan, c);
  const TensorBytes expected = c.outputs_and_caches();
  const auto run_again = [&](const Case& twin) {
    return run_quietly(plan, twin).ok() && difference(twin.outputs_and_caches(), expected).empty();
  };
  CHECK(exit_status_of_child([&] { return run_again(for_child); }) == kPassed);
  CHECK(run_again(for_parent));
}

TEST_CASE("a child of a child computes too, and quantises weights") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  const GuardedTensor w(TensorDesc::dense(DType::float32, {32, 256}));
  w.fill(std::byte{0x3F});
  const GuardedTensor codes(TensorDesc::dense(DType::int8, {32, 256}));
  const GuardedTensor scale(TensorDesc::dense(DType::float32, {1, 256}));
  const auto quantise = [&] {
    codes.fill(std::byte{0});
    return quantize_weight(w.view(), codes.view(), scale.view()).ok() && codes.as<std::int8_t>()[0] == 127 &&
           codes.as<std::int8_t>()[32 * 256 - 1] == 127;
  };
  REQUIRE(quantise());
  const auto in_grandchild = [&] { return exit_status_of_child(quantise) == kPassed && quantise(); };
  CHECK(exit_status_of_child(in_grandchild) == kPassed);
}

}  // namespace mla_prolog::test
