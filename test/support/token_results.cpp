#include "test/support/token_results.hpp"

#include <algorithm>

#include "test/catch.hpp"

namespace mla_prolog::test {

TensorBytes from_single_tokens(const Case& c, const PlanOptions& options) {
  TensorBytes expected = c.outputs_and_caches();
  const Case one = c.single();
  const Plan plan = make_test_plan(one, options);
  const Addressing addressing = c.addressing();
  for (std::int64_t t = 0; t < c.tokens(); ++t) {
    one.copy_token(0, c, t);
    REQUIRE(run_quietly(plan, one).ok());
    for (const TensorId id : all_tensors()) {
      if (is_output(id) && c.problem()[id].present()) {
        const auto row = one.token_row(id, 0);
        const auto offset = c.token_row(id, t).data() - c.memory(id).data();
        std::ranges::copy(row, expected[static_cast<std::size_t>(id)].begin() + offset);
      }
    }
    if (c.problem().kv_cache.numel() == 0) continue;
    const Slot slot = oracle_slot(addressing, t);
    if (slot.block < 0) continue;
    for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
      if (!c.has_cache(id)) continue;
      const auto row = oracle_read_row(one.cache_layout(id), {0, 0}, one.data(id));
      // Interleaved caches share the memory that stands under kv_cache.
      const auto offset = c.data(id) - (c.spec().interleaved ? c.data(TensorId::kv_cache) : c.memory(id).data());
      auto& bytes = expected[static_cast<std::size_t>(c.spec().interleaved ? TensorId::kv_cache : id)];
      oracle_write_row(c.cache_layout(id), slot, row.data(), bytes.data() + offset);
    }
  }
  return expected;
}

}  // namespace mla_prolog::test
