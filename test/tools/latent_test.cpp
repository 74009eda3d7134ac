// c^KV and k^R before the cache's quantisation, against what the operator itself writes into an unquantised cache.
#include "tools/run/latent.hpp"

#include <cmath>
#include <cstring>

#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "tools/run/inputs.hpp"

using namespace mla_prolog;
using namespace mla_prolog::tools;

TEST_CASE("latent rows, rounded to bf16, are the operator's bf16 cache rows to the bit") {
  for (const std::int64_t mode : {1, 2, 3, 4, 5}) {
    for (const Profile profile : {Profile::a2, Profile::ascend950}) {
      if (profile == Profile::a2 && mode > 2) continue;
      RunRequest request;
      request.he = 1056;  // two chunks of 512 and a part
      request.hcq = 64;
      request.heads = 2;
      request.nope_dim = 16;
      request.tokens = 5;
      request.positions = 9;
      request.kc_scale = 1.7;
      request.quant = "w" + std::to_string(mode) + "kv0";
      request.block_size = 5;
      const RunSetting setting = resolve(request);
      RunInputs inputs(request, setting);
      const Problem problem = inputs.problem(setting.scenarios[0]);
      PlanOptions options;
      options.profile = profile;
      const Result<Plan> plan = make_plan(problem, options);
      INFO(*request.quant);
      INFO(plan.error().message);
      REQUIRE(plan.ok());
      Operands operands = inputs.make(setting.scenarios[0], problem, profile, nullptr);
      Buffer workspace(plan->workspace_bytes());
      REQUIRE(run(*plan, operands.pointers(), workspace.data(), workspace.size()).ok());

      const LatentRows rows = latent_rows(operands, profile);
      Buffer rounded(5 * 512 * 2);
      REQUIRE(encode(DType::bf16, rows.c_kv.as<float>().data(), 5 * 512, rounded.data()));
      CHECK(std::memcmp(rounded.data(), operands[TensorId::kv_cache].data(), rounded.size()) == 0);
      Buffer key(5 * 64 * 2);
      REQUIRE(encode(DType::bf16, rows.k_r.as<float>().data(), 5 * 64, key.data()));
      CHECK(std::memcmp(key.data(), operands[TensorId::kr_cache].data(), key.size()) == 0);
    }
  }
}

TEST_CASE("cache scales are MAX / amax, and 1 where that is no number to multiply with") {
  Buffer rows(6 * sizeof(float));
  const float values[] = {1.0F, 0.0F, -4.0F, 2.0F, 0.0F, INFINITY};
  std::memcpy(rows.data(), values, sizeof values);
  const Buffer per_column = cache_scale(rows, 3, true, 127.0F);
  CHECK(per_column.as<float>()[0] == 127.0F / 2.0F);
  CHECK(per_column.as<float>()[1] == 1.0F);
  CHECK(per_column.as<float>()[2] == 1.0F);
  Buffer finite(3 * sizeof(float));
  std::memcpy(finite.data(), values, 3 * sizeof(float));
  const Buffer per_tensor = cache_scale(finite, 3, false, 448.0F);
  REQUIRE(per_tensor.size() == sizeof(float));
  CHECK(per_tensor.as<float>()[0] == 112.0F);
  CHECK(cache_scale(Buffer(), 512, false, 127.0F).as<float>()[0] == 1.0F);
}
