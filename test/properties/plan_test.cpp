// What a plan refuses beyond phase one: strides, options, sizes no machine has. Each refusal names its reason.
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

void check_refused(const Problem& problem, const PlanOptions& options, const std::string& name) {
  const Result<Plan> plan = make_plan(problem, options);
  INFO("expected a refusal that names " << name << ", got: " << plan.error().message);
  CHECK_FALSE(plan.ok());
  CHECK_FALSE(plan.error().status.ok());
  CHECK(plan.error().message.find(name) != std::string::npos);
}

CaseSpec some_spec(Rng& rng, const Modes& modes) {
  SpecChoices choices;
  choices.modes = modes;
  choices.most_tokens = 6;
  choices.strides = false;
  CaseSpec spec = random_spec(rng, choices);
  spec.config.query_norm = true;
  return spec;
}

Problem problem_of(const CaseSpec& spec) { return describe(spec.config); }

}  // namespace

TEST_CASE("a plan refuses strides of every tensor that must be dense, by name") {
  Rng rng(seed());
  for (const Modes& modes : all_modes()) {
    const Problem problem = problem_of(some_spec(rng, modes));
    for (const TensorId id : all_tensors()) {
      if (problem[id].numel() == 0) continue;
      for (std::int32_t d = 0; d < problem[id].rank; ++d) {
        const auto at = static_cast<std::size_t>(d);
        const bool leading = id == TensorId::token_x ? d + 1 < problem[id].rank : is_cache(id) && d == 0;
        if (problem[id].shape[at] == 1 || leading) continue;
        for (const std::int64_t stride : {problem[id].strides[at] + 1, std::int64_t{0}, -problem[id].strides[at]}) {
          Problem strided = problem;
          strided[id].strides[at] = stride;
          INFO(to_string(id) << " dimension " << d << " stride " << stride);
          check_refused(strided, options_under_test(), std::string(to_string(id)));
        }
      }
    }
  }
}

TEST_CASE("a plan refuses options that do not exist, by name and value") {
  const Problem problem = describe(ProblemConfig{});
  const auto refused = [&](auto PlanOptions::*option, const std::string& name) {
    PlanOptions options;
    options.*option = static_cast<std::remove_reference_t<decltype(options.*option)>>(77);
    check_refused(problem, options, name + ": 77");
  };
  refused(&PlanOptions::domain, "domain");
  refused(&PlanOptions::soc, "soc");
  refused(&PlanOptions::profile, "profile");
  refused(&PlanOptions::backend, "backend");
  refused(&PlanOptions::isa, "isa");
  refused(&PlanOptions::numerics, "numerics");
}

TEST_CASE("a plan that was moved from is still that plan") {
  const Result<Plan> made = make_plan(describe(ProblemConfig{}));
  REQUIRE(made.ok());
  Plan from = *made;
  const Plan to = std::move(from);
  CHECK(from.workspace_bytes() == to.workspace_bytes());  // NOLINT(bugprone-use-after-move)
  CHECK(from.describe() == to.describe());
  CHECK(run(from, {}, nullptr, 0).rule == run(to, {}, nullptr, 0).rule);
}

TEST_CASE("a plan refuses blocks and rows that overlap, or rows at no one distance") {
  Rng rng(seed());
  for (const Modes& modes : {Modes{0, 0}, Modes{2, 1}, Modes{2, 3}}) {
    CaseSpec spec = some_spec(rng, modes);
    spec.config.cache_mode = CacheMode::pa_bsnd;
    spec.config.block_num = 3;
    spec.config.block_size = 4;
    spec.config.batched = true;
    spec.config.batch = 2;
    spec.config.seq = 3;
    const Problem problem = problem_of(spec);
    REQUIRE(make_plan(problem, options_under_test()).ok());
    for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
      if (problem[id].numel() == 0) continue;
      for (const std::int64_t stride : {problem[id].strides[0] - 1, std::int64_t{0}, -problem[id].strides[0]}) {
        Problem overlapping = problem;
        overlapping[id].strides[0] = stride;
        check_refused(overlapping, options_under_test(), std::string(to_string(id)));
      }
    }
    const std::int64_t he = spec.config.he;
    for (const auto& [batch_stride, row_stride] :
         {std::pair{3 * (he - 1), he - 1}, {std::int64_t{0}, he}, {3 * he + 1, he}, {-3 * he, -he}, {he, 2 * he}}) {
      Problem uneven = problem;
      uneven.token_x.strides[0] = batch_stride;
      uneven.token_x.strides[1] = row_stride;
      check_refused(uneven, options_under_test(), "token_x");
    }
    Problem fine = problem;
    fine.token_x.strides[0] = 3 * (he + 5);
    fine.token_x.strides[1] = he + 5;
    CHECK(make_plan(fine, options_under_test()).ok());
  }
}

TEST_CASE("a plan refuses sizes and strides that no address space holds") {
  Rng rng(seed());
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;
  CaseSpec spec = some_spec(rng, {0, 0});
  spec.config.cache_mode = CacheMode::pa_bsnd;
  spec.config.block_num = 3;
  spec.config.block_size = 4;
  const auto with = [&](const std::function<void(Problem&)>& change) {
    Problem problem = problem_of(spec);
    change(problem);
    return problem;
  };
  const PlanOptions options = options_under_test();
  check_refused(with([&](Problem& p) { p.kv_cache.strides[0] = kHuge; }), options, "kv_cache");
  check_refused(with([&](Problem& p) { p.kr_cache.strides[0] = kHuge; }), options, "kr_cache");
  if (!spec.config.batched && spec.config.tokens > 1) {
    check_refused(with([&](Problem& p) { p.token_x.strides[0] = kHuge; }), options, "token_x");
  }
  spec.config.batched = false;
  for (const std::int64_t tokens : {std::int64_t{1} << 33, std::int64_t{1} << 55, kHuge}) {
    spec.config.tokens = tokens;
    CHECK_FALSE(make_plan(problem_of(spec), options).ok());
  }
  spec.config.tokens = 1;
  for (const std::int64_t blocks : {std::int64_t{1} << 55, kHuge}) {
    spec.config.block_num = blocks;
    CHECK_FALSE(make_plan(problem_of(spec), options).ok());
  }
}

TEST_CASE("a plan refuses options it does not have, by name") {
  Rng rng(seed());
  const Problem problem = problem_of(some_spec(rng, {3, 0}));
  PlanOptions options;
  for (const int threads : {-1, 1025, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    options.threads = threads;
    check_refused(problem, options, "threads");
    check_refused(problem, options, std::to_string(threads));
  }
  options.threads = 1024;
  CHECK(make_plan(problem, options).ok());
  options = {};
  options.profile = Profile::a2;
  check_refused(problem, options, "a2");
  options = {};
  options.backend = Backend::reference;
  options.isa = Isa::avx2;
  check_refused(problem, options, "avx2");
  options = {};
  options.backend = Backend::ascend;
  check_refused(problem, options, "ascend");
  const bool x86 = std::string(to_string(make_plan(problem)->isa())).find("neon") == std::string::npos;
  options = {};
  options.isa = x86 ? Isa::neon : Isa::avx2;  // of another architecture
  check_refused(problem, options, std::string(to_string(options.isa)));
}

}  // namespace mla_prolog::test
