// Uses the package as its documentation says: the versions agree, a plan is made and refused, a layer of zeros gives
// zeros.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mla_prolog/mla_prolog.hpp>
#include <mla_prolog/version.hpp>
#include <vector>

namespace mp = mla_prolog;

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "consumer: %s\n", what);
  return EXIT_FAILURE;
}

}  // namespace

int main() {
  if (std::strcmp(mp::version(), MLA_PROLOG_VERSION) != 0) return fail("library and headers differ in version");

  mp::ProblemConfig config;
  config.he = 128;
  config.hcq = 64;
  config.n = 2;
  config.d = 16;
  config.tokens = 3;
  config.block_num = 1;
  config.block_size = 16;
  mp::Problem problem = mp::describe(config);
  const auto plan = mp::make_plan(problem);
  if (!plan) return fail(plan.error().message.c_str());

  std::map<mp::TensorId, std::vector<std::byte>> storage;
  mp::Tensors tensors;
  for (const mp::TensorId id : mp::all_tensors()) {
    auto& bytes = storage[id];
    bytes.assign(problem[id].extent_bytes(), mp::is_output(id) ? std::byte{0x55} : std::byte{0});
    if (!bytes.empty()) tensors.set(id, bytes.data());
  }
  const std::vector<std::int64_t> slots = {0, 1, 2};
  tensors.cache_index = slots.data();
  void* workspace = std::aligned_alloc(mp::Plan::kWorkspaceAlignment, plan->workspace_bytes());
  const mp::Status status = mp::run(*plan, tensors, workspace, plan->workspace_bytes());
  std::free(workspace);
  if (!status.ok()) return fail(mp::message(status).c_str());
  for (const mp::TensorId id : {mp::TensorId::query, mp::TensorId::query_rope}) {
    const auto& bytes = storage[id];
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return fail("zeros did not give zeros");
    }
  }

  problem.attributes.tile_size = 64;
  const auto refused = mp::make_plan(problem);
  if (refused || refused.error().message.empty()) return fail("a wrong tile size was not refused with a message");
  return EXIT_SUCCESS;
}
