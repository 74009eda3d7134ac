// One decode step of a DeepSeek-V3 layer with int8 weights and an int8 cache (w2kv1), as a serving stack would call it.
// Zero-filled tensors stand for the model's: what matters is who owns what, and in which order things happen.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "mla_prolog/mla_prolog.hpp"

namespace mp = mla_prolog;

int main() {
  // 1. Describe the layer in the model's terms. Weights are FRACTAL_NZ (mp::format_cast makes them so, once, at load
  //    time); tensors of your own layout can be described one by one in mp::Problem.
  mp::ProblemConfig config;
  config.tokens = 4;
  config.weight_quant_mode = 2;    // int8 weights and activations
  config.kv_cache_quant_mode = 1;  // int8 cache, one scale per tensor
  config.cache_mode = mp::CacheMode::pa_bsnd;
  config.block_num = 16;
  config.block_size = 128;
  const mp::Problem problem = mp::describe(config);

  // 2. Plan: everything is checked and sized here, once per shape.
  const mp::Result<mp::Plan> plan = mp::make_plan(problem);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.error().message.c_str());
    return EXIT_FAILURE;
  }
  std::fputs(plan->describe().c_str(), stdout);

  // 3. Point to the data. Absent and empty tensors stay null.
  std::map<mp::TensorId, std::vector<std::byte>> storage;
  mp::Tensors tensors;
  for (const mp::TensorId id : mp::all_tensors()) {
    auto& bytes = storage[id];
    bytes.resize(problem[id].extent_bytes());
    if (!bytes.empty()) tensors.set(id, bytes.data());
  }
  const std::vector<std::int64_t> slots = {7, 300, 301, 2047};  // where each token goes in the paged cache
  tensors.cache_index = slots.data();

  // 4. Run, as often as you like; one workspace per thread that runs the plan.
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(mp::Plan::kWorkspaceAlignment, plan->workspace_bytes()), &std::free);
  const mp::Status status = mp::run(*plan, tensors, workspace.get(), plan->workspace_bytes());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", mp::message(status).c_str());
    return EXIT_FAILURE;
  }

  // 5. query, query_rope and dequant_scale_q_nope feed attention; kv_cache and kr_cache hold the new rows.
  std::printf("query: %s\n", problem.query.to_string().c_str());
  return EXIT_SUCCESS;
}
