// What `run` refuses, by name, with not one byte of an output or cache written.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/support/case.hpp"
#include "test/support/options.hpp"

namespace mla_prolog::test {
namespace {

// Tensors that this call reads or writes.
bool is_used(const Case& c, TensorId id) {
  const ProblemConfig& config = c.config();
  if (c.problem()[id].numel() == 0) return false;
  if (id == TensorId::cache_index || id == TensorId::actual_seq_len) return c.has_cache(TensorId::kv_cache);
  return id != TensorId::k_nope_clip_alpha || (config.kv_cache_quant_mode == 3 && config.weight_quant_mode < 3);
}

bool is_written(TensorId id) { return is_output(id) || is_cache(id); }

bool overlap(const Case& c, const Tensors& tensors, TensorId a, TensorId b) {
  const auto begin = [&](TensorId id) { return static_cast<const std::byte*>(tensors.get(id)); };
  const auto end = [&](TensorId id) { return begin(id) + c.problem()[id].extent_bytes(); };
  return begin(a) < end(b) && begin(b) < end(a);
}

struct Attempt {
  const Case& c;
  const Plan& plan;
  GuardedMemory workspace;
  TensorBytes before;
  TensorBytes inputs_before;
  Status status;

  Attempt(const Case& of, const Plan& planned)
      : c(of),
        plan(planned),
        workspace(planned.workspace_bytes(), Plan::kWorkspaceAlignment),
        before(of.outputs_and_caches()),
        inputs_before(of.inputs()) {}

  // Runs and checks that it was refused by this rule, naming what it should, with nothing written.
  const Status& refused(const Tensors& tensors, Rule rule, const std::string& name) {
    return refused(tensors, workspace.data(), workspace.size(), rule, name);
  }
  const Status& refused(const Tensors& tensors, void* space, std::size_t bytes, Rule rule, const std::string& name) {
    status = run(plan, tensors, space, bytes);
    const std::string text = message(status);
    INFO(c.spec().to_string() << ": " << text);
    CHECK_FALSE(status.ok());
    CHECK(status.rule == rule);
    CHECK(text.find(name) != std::string::npos);
    CHECK(difference(c.outputs_and_caches(), before) == "");
    return status;
  }

  // All attempts together left the inputs and everything around the tensors alone.
  ~Attempt() {
    CHECK(difference(c.inputs(), inputs_before) == "");
    CHECK((c.intact() && workspace.intact()));
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
};

std::string name_of(TensorId id) { return std::string(to_string(id)); }

// Every scenario with every cache mode it has, and no index that is skipped.
void for_each_scenario(const std::function<void(Rng&, const CaseSpec&)>& check) {
  Rng rng(seed());
  for (const Modes& modes : all_modes()) {
    for (const CacheMode mode : {CacheMode::pa_bsnd, CacheMode::pa_nz, CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz,
                                 CacheMode::bsnd, CacheMode::tnd}) {
      if (modes.kv_cache_quant == 3 && (is_nz_cache(mode) || is_block_table(mode))) continue;
      SpecChoices choices;
      choices.modes = modes;
      choices.cache_mode = mode;
      choices.most_tokens = 5;
      CaseSpec spec = random_spec(rng, choices);
      spec.distinct_slots = true;
      spec.config.query_norm = true;
      spec.config.block_num = std::max<std::int64_t>(spec.config.block_num, spec.tokens());
      check(rng, spec);
    }
  }
}

}  // namespace

TEST_CASE("run refuses a null pointer of each tensor it uses, and of no other") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng&, const CaseSpec& spec) {
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    for (const TensorId id : all_tensors()) {
      Tensors tensors = c.tensors();
      tensors.set(id, nullptr);
      if (!is_used(c, id)) continue;
      const Status status = attempt.refused(tensors, Rule::pointer_null, name_of(id));
      CHECK(status.code == StatusCode::param_nullptr);
      CHECK(status.tensor == id);
    }
    attempt.refused({}, Rule::pointer_null, "token_x");
    // Pointers of tensors that are absent mean nothing.
    Tensors tensors = c.tensors();
    for (const TensorId id : all_tensors()) {
      if (c.problem()[id].numel() == 0) tensors.set(id, c.data(TensorId::query));
    }
    CHECK(run(plan, tensors, attempt.workspace.data(), attempt.workspace.size()).ok());
  });
}

TEST_CASE("run refuses a data pointer between two elements, of each tensor it uses") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng&, const CaseSpec& spec) {
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    for (const TensorId id : all_tensors()) {
      const auto size = static_cast<std::int64_t>(element_size(c.problem()[id].dtype));
      if (!is_used(c, id) || size < 2) continue;
      Tensors tensors = c.tensors();
      tensors.set(id, static_cast<std::byte*>(c.data(id)) + 1);
      const Status status = attempt.refused(tensors, Rule::pointer_misaligned, name_of(id));
      CHECK(status.tensor == id);
      CHECK(status.value == 1);
      CHECK(status.limit == size);
    }
  });
}

TEST_CASE("run refuses a workspace that is null, too small or misaligned") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng& rng, const CaseSpec& spec) {
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    REQUIRE(plan.workspace_bytes() > 0);
    Attempt attempt(c, plan);
    const std::size_t needed = plan.workspace_bytes();
    const Tensors tensors = c.tensors();
    CHECK(attempt.refused(tensors, nullptr, needed, Rule::workspace_null, std::to_string(needed)).code ==
          StatusCode::param_nullptr);
    attempt.refused(tensors, nullptr, 0, Rule::workspace_null, "workspace");
    for (const std::size_t bytes : {needed - 1, needed / 2, std::size_t{0}}) {
      const Status status =
          attempt.refused(tensors, attempt.workspace.data(), bytes, Rule::workspace_too_small, std::to_string(needed));
      CHECK(status.value == static_cast<std::int64_t>(bytes));
      CHECK(status.limit == static_cast<std::int64_t>(needed));
    }
    const GuardedMemory larger(needed + 128, Plan::kWorkspaceAlignment);
    for (const std::size_t shift : {std::size_t{1}, std::size_t{8}, std::size_t{32}, std::size_t{63}}) {
      const Status status = attempt.refused(tensors, larger.data() + shift, needed, Rule::workspace_misaligned, "64");
      CHECK(status.value == static_cast<std::int64_t>(shift));
    }
    static_cast<void>(rng);
  });
}

TEST_CASE("run refuses outputs and caches that overlap anything it uses, and names both") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng& rng, const CaseSpec& given) {
    CaseSpec spec = given;
    spec.interleaved = false;
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    const TensorId written = rng.pick([&] {
      std::vector<TensorId> all;
      for (const TensorId id : all_tensors()) {
        if (is_written(id) && is_used(c, id)) all.push_back(id);
      }
      return all;
    }());
    for (const TensorId other : all_tensors()) {
      if (other == written || !is_used(c, other)) continue;
      // The same address; the written one ending in the other's first element; beginning in its last: all at whole
      // elements of the written one.
      const auto begin = reinterpret_cast<std::uintptr_t>(c.data(other));
      const std::size_t size = element_size(c.problem()[written].dtype);
      const std::uintptr_t last = begin + c.problem()[other].extent_bytes() - 1;
      const std::uintptr_t before = begin + size - c.problem()[written].extent_bytes();
      for (const std::uintptr_t address : {begin, before, last}) {
        Tensors tensors = c.tensors();
        tensors.set(written, reinterpret_cast<void*>(address / size * size));
        const Status status = attempt.refused(tensors, Rule::tensors_overlap, name_of(written));
        CHECK(status.code == StatusCode::param_invalid);
        // A large tensor may have met another one as well: what is named must be true.
        CHECK((status.tensor == written || status.other == written));
        CHECK(overlap(c, tensors, status.tensor, status.other));
        CHECK(message(status).find(name_of(status.other)) != std::string::npos);
      }
    }
  });
}

TEST_CASE("run refuses a workspace that overlaps a tensor") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng&, const CaseSpec& spec) {
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    for (const TensorId id : all_tensors()) {
      if (!is_used(c, id)) continue;
      Tensors tensors = c.tensors();
      tensors.set(id, attempt.workspace.data());
      const Status status = attempt.refused(tensors, Rule::tensors_overlap, name_of(id));
      CHECK(message(status).find("workspace") != std::string::npos);
    }
  });
}

TEST_CASE("tensors that touch, and inputs that share memory, are fine") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng&, const CaseSpec& spec) {
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Tensors tensors = c.tensors();
    tensors.rope_sin = tensors.rope_cos;  // both inputs
    // query and query_rope in one piece of memory, one right after the other
    const std::size_t query_bytes = c.problem().query.extent_bytes();
    const GuardedMemory together(query_bytes + c.problem().query_rope.extent_bytes(), 2);
    tensors.query = together.data();
    tensors.query_rope = together.data() + query_bytes;
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    const Status status = run(plan, tensors, workspace.data(), workspace.size());
    INFO(c.spec().to_string() << ": " << message(status));
    CHECK(status.ok());
    CHECK(together.intact());
  });
}

TEST_CASE("run refuses indices out of range and block tables too short, and names token, value and capacity") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_scenario([](Rng& rng, const CaseSpec& spec) {
    if (!is_paged(spec.config.cache_mode)) return;
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    const bool by_block = is_block_table(spec.config.cache_mode);
    const std::int64_t capacity = spec.config.block_num * (by_block ? 1 : spec.config.block_size);
    auto index = c.addressing().index;
    for (const std::int64_t bad : {capacity, capacity + 7, std::int64_t{1} << 62, INT64_MAX}) {
      std::size_t at = rng.next() % index.size();
      std::vector<std::int64_t> spoiled = index;
      spoiled[at] = bad;
      Tensors tensors = c.tensors();
      tensors.cache_index = spoiled.data();
      const Status status = attempt.refused(tensors, Rule::cache_index_range, "cache_index");
      CHECK(status.code == StatusCode::param_invalid);
      CHECK(status.tensor == TensorId::cache_index);
      CHECK(status.value == bad);
      CHECK(status.limit == capacity);
      Addressing where = c.addressing();
      where.index = spoiled;  // the token named is the first that the bad entry concerns
      const std::int64_t divisor = by_block ? 1 : spec.config.block_size;
      CHECK(oracle_slot(where, status.index).block == bad / divisor);
      CHECK((status.index == 0 || oracle_slot(where, status.index - 1).block != bad / divisor));
      for (const std::int64_t number : {status.index, bad, capacity}) {
        CHECK(message(status).find(std::to_string(number)) != std::string::npos);
      }
    }
    // The last token bad, all others good: still nothing is written.
    index.back() = capacity;
    Tensors tensors = c.tensors();
    tensors.cache_index = index.data();
    attempt.refused(tensors, Rule::cache_index_range, "cache_index");
  });
}

TEST_CASE("run refuses prefix sums that decrease and tables too short for them") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(40, [](Rng& rng) {
    SpecChoices choices;
    choices.modes = rng.pick({Modes{0, 0}, Modes{2, 1}, Modes{3, 0}});
    choices.cache_mode = rng.pick({CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz});
    choices.tokens = rng.integer(4, 12);
    CaseSpec spec = random_spec(rng, choices);
    ProblemConfig& config = spec.config;
    config.sequences = 3;
    config.block_table_entries = 3;
    config.block_size = 16;
    config.block_num = 4;
    const auto t = static_cast<std::int32_t>(config.tokens);
    spec.prefix_sums = {1, 3, t};
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    const auto with = [&](std::vector<std::int32_t>& sums) {
      Tensors tensors = c.tensors();
      tensors.actual_seq_len = sums.data();
      return tensors;
    };
    for (std::vector<std::int32_t> sums :
         {std::vector<std::int32_t>{3, 1, t}, {-1, 3, t}, {1, t, 3}, {INT32_MIN, 3, t}, {INT32_MAX, INT32_MIN, t}}) {
      const Status status = attempt.refused(with(sums), Rule::prefix_sum_decreasing, "actual_seq_len");
      CHECK(status.tensor == TensorId::actual_seq_len);
      CHECK(status.value == sums[static_cast<std::size_t>(status.index)]);
    }
    // Every token in the first sequence, whatever the later sums: accepted.
    std::vector<std::int32_t> sums(3, INT32_MAX);
    CHECK(run(plan, with(sums), attempt.workspace.data(), attempt.workspace.size()).ok());
  });
}

TEST_CASE("run refuses a block table that is too short and names token, entry and length") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  for_each_case(20, [](Rng& rng) {
    SpecChoices choices;
    choices.modes = rng.pick({Modes{0, 0}, Modes{2, 1}, Modes{3, 0}});
    choices.cache_mode = rng.pick({CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz});
    choices.tokens = rng.integer(4, 12);
    CaseSpec spec = random_spec(rng, choices);
    spec.config.block_size = 16;
    spec.config.block_num = 4;
    spec.config.sequences = 3;
    spec.prefix_sums = {1, 3, static_cast<std::int32_t>(spec.config.tokens)};  // one entry each
    spec.config.block_table_entries = 2;
    spec.distinct_slots = true;
    const Case c(spec);
    const Plan plan = make_test_plan(c, options_under_test());
    Attempt attempt(c, plan);
    const Status status = attempt.refused(c.tensors(), Rule::block_table_too_short, "cache_index");
    CHECK(status.index == 3);
    CHECK(status.value == 2);
    CHECK(status.limit == 2);
    CHECK(message(status).find("token 3") != std::string::npos);
  });
}

}  // namespace mla_prolog::test
