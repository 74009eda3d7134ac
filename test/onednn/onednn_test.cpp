// Plans with oneDNN's int8 matmuls: the bits of the reference, prepared weights, refusals.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "mla_prolog/explain.hpp"
#include "test/onednn/operator_run.hpp"

namespace mla_prolog::test {
namespace {

// With the int8 weights themselves zero: what is right then was computed from the prepared ones.
std::vector<std::byte> results_without_weights(const Plan& plan, const PreparedWeights& weights, OperatorData& data,
                                               int weight_mode) {
  std::vector<TensorId> ids{TensorId::weight_uq_qr};
  if (weight_mode == 2) ids.insert(ids.end(), {TensorId::weight_dq, TensorId::weight_dkv_kr});
  std::vector<std::vector<std::byte>> saved;
  for (const TensorId id : ids) {
    const Buffer& buffer = data.buffer(id);
    saved.emplace_back(buffer.data(), buffer.data() + buffer.size());
    std::memset(buffer.data(), 0, saved.back().size());
  }
  std::vector<std::byte> results = results_of(plan, weights, data);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(data.buffer(ids[i]).data(), saved[i].data(), saved[i].size());
  }
  return results;
}

}  // namespace

TEST_CASE("int8 through oneDNN gives the reference's bits") {
  for (const auto& [weight_mode, cache_mode] : {std::pair{1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}}) {
    for (const std::int64_t tokens : {1, 2, 7, 34}) {
      const Problem problem = describe(small_config(weight_mode, cache_mode, tokens));
      OperatorData data(problem, static_cast<std::uint64_t>(tokens), tokens % 2 == 1);
      const auto want = strict_results(data);
      for (const int threads : {1, 2, 3}) {
        std::string refusal;
        const auto plan = onednn_plan(problem, Numerics::strict, threads, refusal);
        if (!plan) MLA_PROLOG_SKIP(refusal);
        CHECK(plan->backend() == Backend::onednn);
        CHECK(plan->describe().find("oneDNN (s8s8s32 ") != std::string::npos);
        const PreparedWeights weights = prepared_for(*plan, data);
        CHECK(weights.bytes() > 0);
        INFO("w" << weight_mode << "kv" << cache_mode << " T " << tokens << " threads " << threads);
        CHECK((results_of(*plan, weights, data) == want));
        CHECK((results_of(*plan, weights, data) == want));
        if (threads == 1) CHECK((results_without_weights(*plan, weights, data, weight_mode) == want));
      }
    }
  }
}

TEST_CASE("heads that begin inside panels, and rows with gaps, stay native with the same bits") {
  ProblemConfig config = small_config(2, 0, 9);
  config.n = 4;
  config.d = 16;
  Problem problem = describe(config);
  for (const bool gaps : {false, true}) {
    if (gaps) problem.token_x.strides[0] = config.he + 32;
    OperatorData data(problem, 4, true);
    const auto want = strict_results(data);
    std::string refusal;
    const auto plan = onednn_plan(problem, Numerics::strict, 2, refusal);
    if (gaps) {  // nothing is left for oneDNN
      CHECK_FALSE(plan);
      continue;
    }
    if (!plan) MLA_PROLOG_SKIP(refusal);
    CHECK(plan->describe().find("engine of C: native (heads do not begin where panels do)") != std::string::npos);
    CHECK((results_of(*plan, prepared_for(*plan, data), data) == want));
  }
}

TEST_CASE("a plan by name refuses what oneDNN cannot do, and runs without its weights") {
  std::string refusal;
  CHECK_FALSE(onednn_plan(describe(small_config(0, 0, 4)), Numerics::strict, 1, refusal));
  CHECK(refusal.find("onednn") != std::string::npos);
  for (const Backend backend : {Backend::cpu, Backend::reference}) {
    const auto plan = make_plan(describe(small_config(0, 0, 4)), {.backend = backend, .numerics = Numerics::fast});
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().message.find("fast") != std::string::npos);
  }

  const Problem problem = describe(small_config(2, 0, 4));
  const auto plan = onednn_plan(problem, Numerics::strict, 1, refusal);
  if (!plan) MLA_PROLOG_SKIP(refusal);
  OperatorData data(problem, 1, false);
  const auto before = data.written();
  const Buffer workspace(plan->workspace_bytes());
  Status status = run(*plan, data.tensors(), workspace.data(), workspace.size());
  CHECK(status.rule == Rule::weights_not_prepared);
  CHECK_FALSE(message(status).empty());
  // Those of another layer.
  ProblemConfig other = small_config(2, 0, 4);
  other.he = 576;
  const Problem other_problem = describe(other);
  OperatorData other_data(other_problem, 1, false);
  const auto other_plan = onednn_plan(other_problem, Numerics::strict, 1, refusal);
  REQUIRE(other_plan);
  status = run(*plan, prepared_for(*other_plan, other_data), data.tensors(), workspace.data(), workspace.size());
  CHECK(status.rule == Rule::weights_not_prepared);
  CHECK((data.written() == before));
  // A null weight.
  Tensors tensors = data.tensors();
  tensors.weight_uq_qr = nullptr;
  const auto prepared = prepare_weights(*plan, tensors);
  REQUIRE_FALSE(prepared.ok());
  CHECK(prepared.error().message.find("weight_uq_qr") != std::string::npos);
}

TEST_CASE("prepared weights serve other numbers of tokens, and native plans need none") {
  const Problem one = describe(small_config(2, 1, 1));
  const Problem many = describe(small_config(2, 1, 40));
  OperatorData data(many, 3, false);
  const auto native = make_plan(many);
  REQUIRE(native.ok());
  CHECK(prepared_for(*native, data).bytes() == 0);
  const auto want = strict_results(data);
  std::string refusal;
  const auto decode = onednn_plan(one, Numerics::strict, 2, refusal);
  const auto prefill = onednn_plan(many, Numerics::strict, 2, refusal);
  if (!decode || !prefill) MLA_PROLOG_SKIP(refusal);
  CHECK((results_of(*prefill, prepared_for(*decode, data), data) == want));
}

TEST_CASE("noting tiles changes neither the engine nor the bits") {
  const Problem problem = describe(small_config(2, 1, 20));
  OperatorData data(problem, 6, false);
  const auto want = strict_results(data);
  std::string refusal;
  const auto plan = onednn_plan(problem, Numerics::strict, 2, refusal);
  if (!plan) MLA_PROLOG_SKIP(refusal);
  const PreparedWeights weights = prepared_for(*plan, data);
  // The native kernels would compute zeros.
  for (const TensorId id : {TensorId::weight_dq, TensorId::weight_dkv_kr, TensorId::weight_uq_qr}) {
    std::memset(data.buffer(id).data(), 0, data.buffer(id).size());
  }
  data.reset();
  Recording recording(*plan);
  const Buffer workspace(plan->workspace_bytes());
  const Status status = run(*plan, weights, data.tensors(), workspace.data(), workspace.size(), recording);
  CHECK(status.ok());
  CHECK((data.written() == want));
  const Explanation explanation = explain(*plan);
  CHECK(recording.tiles().size() == explanation.tiles.size());
  int by_onednn = 0;
  for (const StageSummary& stage : explanation.stages) {
    CHECK(stage.engine.empty() == (stage.weight_bytes == 0));
    if (stage.engine.find("oneDNN s8s8s32") != std::string::npos) ++by_onednn;
  }
  CHECK(by_onednn == 2);
  // By name and without prepared weights: refused as without a recording.
  const Status unprepared = run(*plan, data.tensors(), workspace.data(), workspace.size(), recording);
  CHECK(unprepared.rule == Rule::weights_not_prepared);
}

TEST_CASE("plans with oneDNN run nested, from several threads, and in a forked child") {
  const Problem problem = describe(small_config(2, 0, 20));
  OperatorData data(problem, 5, false);
  const auto want = strict_results(data);
  std::string refusal;
  const auto plan = onednn_plan(problem, Numerics::strict, 2, refusal);
  if (!plan) MLA_PROLOG_SKIP(refusal);
  const PreparedWeights weights = prepared_for(*plan, data);
  CHECK((results_of(*plan, weights, data) == want));
  std::vector<std::byte> got[4];
  const auto run_once = [&](std::vector<std::byte>& result) {
    OperatorData mine(problem, 5, false);
    const Buffer workspace(plan->workspace_bytes());
    if (run(*plan, weights, mine.tensors(), workspace.data(), workspace.size()).ok()) result = mine.written();
  };
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i) run_once(got[i]);
  std::thread first([&] { run_once(got[2]); });
  std::thread second([&] { run_once(got[3]); });
  first.join();
  second.join();
  for (const auto& result : got) CHECK((result == want));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::vector<std::byte> result;
    run_once(result);
    _exit(result == want ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace mla_prolog::test
