// Runs of the operator with oneDNN's matmuls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mla_prolog/prepare.hpp"
#include "test/catch.hpp"
#include "test/scheduler/operator_data.hpp"

namespace mla_prolog::test {

inline ProblemConfig small_config(std::int64_t weight_mode, std::int64_t cache_mode, std::int64_t tokens) {
  ProblemConfig config;
  config.he = 544;
  config.hcq = 192;
  config.n = 3;
  config.d = 64;
  config.tokens = tokens;
  config.weight_quant_mode = weight_mode;
  config.kv_cache_quant_mode = cache_mode;
  config.block_size = 16;
  config.block_num = tokens / 16 + 2;
  config.query_norm = true;
  return config;
}

/// Plans for oneDNN by name; `refusal` says why not when there is no plan.
inline std::optional<Plan> onednn_plan(const Problem& problem, Numerics numerics, int threads, std::string& refusal) {
  Result<Plan> plan = make_plan(problem, {.backend = Backend::onednn, .numerics = numerics, .threads = threads});
  if (plan.ok()) return std::move(plan).value();
  CHECK(plan.error().status.rule == Rule::option_unavailable);
  refusal = plan.error().message;
  return std::nullopt;
}

/// Everything that a run writes.
inline std::vector<std::byte> results_of(const Plan& plan, const PreparedWeights& weights, OperatorData& data) {
  data.reset();
  const Buffer workspace(plan.workspace_bytes() + 64);
  std::memset(workspace.data(), 0xFF, workspace.size());
  const Status status = run(plan, weights, data.tensors(), workspace.data(), plan.workspace_bytes());
  INFO(message(status));
  CHECK(status.ok());
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(workspace.data()[plan.workspace_bytes() + i] == std::byte{0xFF});
  return data.written();
}

inline PreparedWeights prepared_for(const Plan& plan, const OperatorData& data) {
  const Result<PreparedWeights> prepared = prepare_weights(plan, data.tensors());
  INFO(prepared.error().message);
  REQUIRE(prepared.ok());
  return *prepared;
}

inline std::vector<std::byte> strict_results(OperatorData& data) {
  const auto plan = make_plan(data.problem(), {.backend = Backend::reference, .threads = 2});
  REQUIRE(plan.ok());
  return results_of(*plan, {}, data);
}

}  // namespace mla_prolog::test
