// The optimised backend against the reference backend: the same bytes for every scenario, profile, instruction set,
// number of threads, block height, crew size, and split of the tokens.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "kernels/dispatch/isa_registry.hpp"
#include "mla_prolog/plan.hpp"
#include "runtime/backend/cpu/executor.hpp"
#include "runtime/plan/plan_data.hpp"
#include "runtime/scheduler/team.hpp"
#include "test/catch.hpp"
#include "test/scheduler/operator_data.hpp"

namespace {

using namespace mla_prolog;
using mla_prolog::test::Buffer;
using mla_prolog::test::OperatorData;

struct Scenario {
  int weight_mode;
  int cache_mode;
};
constexpr Scenario kScenarios[] = {{0, 0}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}, {3, 0},
                                   {3, 1}, {3, 3}, {4, 0}, {4, 1}, {4, 3}, {5, 0}, {5, 1}, {5, 3}};

ProblemConfig small_config(const Scenario& scenario, std::int64_t tokens) {
  ProblemConfig config;
  config.he = 544;  // two chunks, the last one short
  config.hcq = 192;
  config.n = 3;
  config.d = 32;
  config.tokens = tokens;
  config.weight_quant_mode = scenario.weight_mode;
  config.kv_cache_quant_mode = scenario.cache_mode;
  config.block_size = 16;
  config.block_num = tokens / 16 + 2;
  config.smooth_scales = scenario.weight_mode != 0 && scenario.weight_mode != 3 && tokens % 2 == 0;
  config.query_norm = true;
  return config;
}

// Where two results first differ, tensor by tensor; empty when they are equal.
std::string difference(const Problem& problem, const std::vector<std::byte>& got, const std::vector<std::byte>& want) {
  if (got.size() != want.size()) return "sizes " + std::to_string(got.size()) + " and " + std::to_string(want.size());
  std::size_t begin = 0;
  for (const TensorId id : all_tensors()) {
    if (!is_output(id) && !is_cache(id)) continue;
    const std::size_t end = begin + problem[id].extent_bytes();
    std::size_t first = end;
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (got[i] == want[i]) continue;
      first = std::min(first, i);
      ++count;
    }
    if (count > 0) {
      return std::string(to_string(id)) + " byte " + std::to_string(first - begin) + " of " +
             std::to_string(end - begin) + ", " + std::to_string(count) + " differ";
    }
    begin = end;
  }
  return "";
}

std::vector<const kernels::KernelSet*> usable_sets() {
  std::vector<const kernels::KernelSet*> sets;
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm != nullptr && kernels::unavailable_reason(set, kernels::cpu_features()).empty()) sets.push_back(&set);
  }
  return sets;
}

std::vector<std::byte> run_plan(const Plan& plan, OperatorData& data) {
  data.reset();
  Buffer workspace(plan.workspace_bytes() + 64);
  std::memset(workspace.data() + plan.workspace_bytes(), 0x77, 64);
  const Status status = run(plan, data.tensors(), workspace.data(), plan.workspace_bytes());
  REQUIRE(status.ok());
  for (int i = 0; i < 64; ++i)
    REQUIRE(workspace.data()[plan.workspace_bytes() + static_cast<std::size_t>(i)] == std::byte{0x77});
  return data.written();
}

Plan plan_of(const Problem& problem, Backend backend, Isa isa, int threads, Profile profile = Profile::automatic) {
  PlanOptions options;
  options.backend = backend;
  options.isa = isa;
  options.threads = threads;
  options.profile = profile;
  auto plan = make_plan(problem, options);
  if (!plan.ok()) FAIL(plan.error().message);
  return *plan;
}

// Slots as `run` makes them, for executors built by hand.
std::vector<std::byte> run_executor(const Plan& plan, const Executor& executor, OperatorData& data,
                                    const std::vector<std::int64_t>& slots) {
  static_cast<void>(plan);
  data.reset();
  Buffer workspace(executor.workspace_bytes() + 64);
  std::memset(workspace.data(), 0xFF, workspace.size());  // NaN everywhere: nothing may depend on old contents
  executor.execute(data.tensors(), slots.data(), workspace.data());
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(workspace.data()[executor.workspace_bytes() + i] == std::byte{0xFF});
  return data.written();
}

std::vector<std::int64_t> slots_of(std::int64_t tokens) {
  std::vector<std::int64_t> slots;
  for (std::int64_t i = 0; i < tokens; ++i) slots.push_back(i % 7 == 5 ? -1 : i ^ 1);
  return slots;
}

TEST_CASE("the cpu backend equals the reference in all scenarios and profiles") {
  for (const Scenario& scenario : kScenarios) {
    for (const Profile profile : {Profile::a2, Profile::ascend950}) {
      if (profile == Profile::a2 && scenario.weight_mode > 2) continue;
      for (const std::int64_t tokens : {1, 2, 7, 34}) {
        const Problem problem = describe(small_config(scenario, tokens));
        OperatorData data(problem, static_cast<std::uint64_t>(tokens), tokens % 2 == 1);
        const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 2, profile), data);
        for (const kernels::KernelSet* set : usable_sets()) {
          if (set->isa == Isa::sse4_2 && tokens % 2 == 1) continue;  // no fma: plain data only (contract.md section 2)
          for (const int threads : {1, 2, 3}) {
            INFO("w" << scenario.weight_mode << "kv" << scenario.cache_mode << " T " << tokens << " " << set->name
                     << " threads " << threads);
            CHECK(difference(problem, run_plan(plan_of(problem, Backend::cpu, set->isa, threads, profile), data),
                             want) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("block heights and crews do not change a bit") {
  const std::int64_t tokens = 37;
  for (const Scenario& scenario : {Scenario{0, 0}, Scenario{2, 1}, Scenario{3, 1}, Scenario{5, 3}}) {
    const Problem problem = describe(small_config(scenario, tokens));
    OperatorData data(problem, 11, false);
    const Plan reference = plan_of(problem, Backend::reference, Isa::automatic, 2);
    const auto want = run_plan(reference, data);
    const auto slots = slots_of(tokens);
    for (const kernels::KernelSet* set : usable_sets()) {
      for (const auto& [threads, groups] : {std::pair{1, 1}, {2, 1}, {2, 2}, {6, 2}, {6, 3}, {16, 4}}) {
        for (const std::int64_t block : {1, 5, 12, 31, 100}) {
          const auto executor =
              make_cpu_executor(reference.data().layer, *set, threads, {.block_tokens = block, .groups = groups});
          INFO("w" << scenario.weight_mode << "kv" << scenario.cache_mode << " " << set->name << " threads " << threads
                   << " crews " << groups << " blocks of " << block);
          CHECK(difference(problem, run_executor(reference, *executor, data, slots), want) == "");
        }
      }
    }
  }
}

TEST_CASE("every way to divide the stages among a crew gives the same bits", "[crews]") {
  struct Size {
    std::int64_t tokens, heads;
  };
  for (const Scenario& scenario : {Scenario{0, 0}, Scenario{2, 1}, Scenario{3, 1}, Scenario{4, 3}, Scenario{5, 1}}) {
    for (const Size& size : {Size{1, 1}, Size{3, 5}, Size{29, 2}}) {
      ProblemConfig config = small_config(scenario, size.tokens);
      config.he = 1568;  // four chunks, the last one short
      config.hcq = 576;
      config.n = size.heads;
      config.d = 48;  // heads begin inside a panel
      if (size.heads % 2 == 1) config.d = 64;
      const Problem problem = describe(config);
      OperatorData data(problem, 21, false);
      const Plan reference = plan_of(problem, Backend::reference, Isa::automatic, 2);
      const auto want = run_plan(reference, data);
      const auto slots = slots_of(size.tokens);
      for (const kernels::KernelSet* set : usable_sets()) {
        for (int choice = 0; choice < 16; ++choice) {
          // Each crew size with some of the choices, the largest with the fewest: its barriers take long on few cores.
          for (const int threads : {2, 3, 7, 16, 128}) {
            if (threads > 7 && choice % 3 != 0) continue;
            if (threads > 16 && (choice % 6 != 3 || set != usable_sets().back())) continue;
            const ScheduleOptions options{.block_tokens = choice % 5 == 0 ? 10 : 0,
                                          .groups = 1,
                                          .split_k = (choice & 1) != 0,
                                          .split_tokens = (choice & 2) != 0,
                                          .share_left = (choice & 4) != 0,
                                          .split_heads = (choice & 8) != 0};
            const auto executor = make_cpu_executor(reference.data().layer, *set, threads, options);
            INFO("w" << scenario.weight_mode << "kv" << scenario.cache_mode << " " << set->name << " threads "
                     << threads << " tokens " << size.tokens << "\n"
                     << executor->describe());
            CHECK(executor->schedule()->has(Stage::heads) != *options.split_heads);
            CHECK((executor->schedule()->planes() > 1) == *options.split_k);
            CHECK(executor->schedule()->has(Stage::pack_x) == *options.share_left);
            CHECK(difference(problem, run_executor(reference, *executor, data, slots), want) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("more threads than heads, tokens or columns have units", "[threads]") {
  for (const Scenario& scenario : {Scenario{0, 0}, Scenario{1, 2}, Scenario{2, 3}, Scenario{3, 3}, Scenario{4, 1}}) {
    for (const std::int64_t tokens : {1, 9}) {
      ProblemConfig config = small_config(scenario, tokens);
      config.n = 1;
      const Problem problem = describe(config);
      OperatorData data(problem, 22, false);
      const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 2), data);
      if (usable_sets().empty()) return;
      for (const int threads : {1, 2, 3, 7, 16, 128}) {
        INFO("w" << scenario.weight_mode << "kv" << scenario.cache_mode << " T " << tokens << " threads " << threads);
        CHECK(difference(problem, run_plan(plan_of(problem, Backend::cpu, Isa::automatic, threads), data), want) == "");
      }
    }
  }
}

// With OMP_THREAD_LIMIT the team is smaller than planned, too, but not one thread.
TEST_CASE("a team smaller than planned works as one crew with the same bits", "[threads]") {
  const Problem problem = describe(small_config({2, 1}, 33));
  OperatorData data(problem, 23, false);
  const Plan reference = plan_of(problem, Backend::reference, Isa::automatic, 1);
  const auto want = run_plan(reference, data);
  const auto slots = slots_of(33);
  for (const kernels::KernelSet* set : usable_sets()) {
    for (const bool split : {false, true}) {
      const ScheduleOptions options{.groups = 2, .split_k = split, .share_left = split, .split_heads = split};
      const auto executor = make_cpu_executor(reference.data().layer, *set, 8, options);
      INFO(set->name << (split ? " split" : ""));
      CHECK(difference(problem, run_executor(reference, *executor, data, slots), want) == "");
      Buffer workspace(executor->workspace_bytes());
      data.reset();
#pragma omp parallel num_threads(2)
      {
#pragma omp single
        executor->execute(data.tensors(), slots.data(), workspace.data());
      }
      CHECK(difference(problem, data.written(), want) == "");
    }
  }
}

TEST_CASE("plans take as many threads as the affinity mask has") {
#if defined(__linux__) && defined(_OPENMP)
  const Problem problem = describe(small_config({0, 0}, 3));
  int planned = 0;
  bool pinned = false;
  std::thread([&] {  // the mask is the thread's own
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    std::size_t cpu = 0;
    while (!CPU_ISSET(cpu, &mask)) ++cpu;
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    pinned = sched_setaffinity(0, sizeof mask, &mask) == 0;
    const Result<Plan> plan = make_plan(problem);
    if (plan.ok()) planned = plan->threads();
  })
      .join();
  if (!pinned) MLA_PROLOG_SKIP("the affinity mask cannot be changed here");
  CHECK(planned == 1);
#else
  MLA_PROLOG_SKIP("needs Linux and OpenMP");
#endif
}

TEST_CASE("relaxed dimensions whose heads begin inside a panel") {
  for (const Scenario& scenario : {Scenario{0, 0}, Scenario{2, 1}, Scenario{3, 0}, Scenario{4, 1}, Scenario{5, 0}}) {
    for (const std::int64_t d : {16, 48, 528}) {
      ProblemConfig config = small_config(scenario, 5);
      config.n = d == 528 ? 2 : 6;
      config.d = d;
      const Problem problem = describe(config);
      OperatorData data(problem, 3, true);
      const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 2), data);
      for (const kernels::KernelSet* set : usable_sets()) {
        if (set->isa == Isa::sse4_2) continue;
        INFO("w" << scenario.weight_mode << "kv" << scenario.cache_mode << " D " << d << " " << set->name);
        CHECK(difference(problem, run_plan(plan_of(problem, Backend::cpu, set->isa, 2), data), want) == "");
      }
    }
  }
}

TEST_CASE("a nested parallel region runs serially with the same bits") {
  const Problem problem = describe(small_config({2, 1}, 17));
  OperatorData data(problem, 5, false);
  const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 1), data);
  if (usable_sets().empty()) return;
  const Plan plan = plan_of(problem, Backend::cpu, Isa::automatic, 4);
  std::vector<std::byte> got[2];
#pragma omp parallel num_threads(2)
  {
#pragma omp for
    for (int i = 0; i < 2; ++i) {
      OperatorData mine(problem, 5, false);
      Buffer workspace(plan.workspace_bytes());
      if (run(plan, mine.tensors(), workspace.data(), workspace.size()).ok()) got[i] = mine.written();
    }
  }
  CHECK(difference(problem, got[0], want) == "");
  CHECK(difference(problem, got[1], want) == "");
}

TEST_CASE("one plan serves several threads at once") {
  const Problem problem = describe(small_config({0, 0}, 20));
  OperatorData data(problem, 6, false);
  const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 1), data);
  if (usable_sets().empty()) return;
  const Plan plan = plan_of(problem, Backend::cpu, Isa::automatic, 2);
  std::vector<std::byte> got[3];
  std::vector<std::thread> threads;
  for (auto& result : got) {
    threads.emplace_back([&] {
      OperatorData mine(problem, 6, false);
      Buffer workspace(plan.workspace_bytes());
      if (run(plan, mine.tensors(), workspace.data(), workspace.size()).ok()) result = mine.written();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : got) CHECK(difference(problem, result, want) == "");
}

TEST_CASE("a forked child computes the same bits") {
  const Problem problem = describe(small_config({1, 0}, 20));
  OperatorData data(problem, 8, false);
  const auto want = run_plan(plan_of(problem, Backend::reference, Isa::automatic, 2), data);
  if (usable_sets().empty()) return;
  const Plan plan = plan_of(problem, Backend::cpu, Isa::automatic, 2);
  CHECK(difference(problem, run_plan(plan, data), want) == "");  // starts the team's threads
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Buffer workspace(plan.workspace_bytes());
    data.reset();
    const bool ok = run(plan, data.tensors(), workspace.data(), workspace.size()).ok() && data.written() == want;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
