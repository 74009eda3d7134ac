// `describe` gives the documented tensors, and every scenario it can describe is accepted.
#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

ProblemConfig config_of(const Sample& sample) {
  ProblemConfig config;
  config.he = sample.he;
  config.hcq = sample.hcq;
  config.n = sample.n;
  config.d = sample.d;
  config.batched = sample.batched;
  if (sample.batched) {
    config.batch = sample.b;
    config.seq = sample.s;
  } else {
    config.tokens = sample.t;
    config.sequences = sample.b;
    config.block_table_entries = sample.table_entries;
  }
  config.weight_quant_mode = sample.w;
  config.kv_cache_quant_mode = sample.kv;
  config.cache_mode = parse<CacheMode>(sample.cache_mode).value();
  config.block_num = sample.block_num;
  config.block_size = sample.block_size;
  config.smooth_scales = sample.smooth;
  config.query_norm = sample.query_norm;
  return config;
}

}  // namespace

TEST_CASE("describe makes exactly the documented tensors and modes") {
  for (Sample sample : all_samples()) {
    sample.flat_weights = false;
    const Problem expected = make(sample);
    const Problem described = describe(config_of(sample));
    for (const TensorId id : all_tensors()) {
      INFO(sample.to_string() << ", " << to_string(id) << ": " << described[id].to_string() << ", expected "
                              << expected[id].to_string());
      CHECK(described[id] == expected[id]);
    }
    INFO(sample.to_string());
    const Attributes& attributes = described.attributes;
    CHECK(attributes.cache_mode == expected.attributes.cache_mode);
    CHECK(attributes.weight_quant_mode == sample.w);
    CHECK(attributes.kv_cache_quant_mode == sample.kv);
    CHECK(attributes.query_quant_mode == expected.attributes.query_quant_mode);
    CHECK(attributes.ckvkr_repo_mode == expected.attributes.ckvkr_repo_mode);
    CHECK(attributes.quant_scale_repo_mode == expected.attributes.quant_scale_repo_mode);
    CHECK(attributes.tile_size == 128);
  }
}

TEST_CASE("every scenario, token rank and cache mode is accepted on its devices and nowhere else") {
  const auto samples = all_samples();
  // 11 scenarios with 10 pairs of cache mode and rank, 5 per-tile ones with 4; each without and with options.
  REQUIRE(samples.size() == 2 * (11 * 10 + 5 * 4));
  for (const Sample& sample : samples) {
    const Problem problem = make(sample);
    INFO(sample.to_string());
    for (const Soc soc : {Soc::automatic, Soc::ascend910b, Soc::ascend910_93, Soc::ascend950}) {
      const CheckReport report = strict(problem, soc);
      const bool exists = sample.w <= 2 || soc == Soc::ascend950 || soc == Soc::automatic;
      INFO(to_string(soc) << " " << show(report));
      CHECK(report.code == (exists ? StatusCode::success : StatusCode::mode_refused));
      CHECK(report.message.empty() == exists);
      CHECK((report.cann_workspace_bytes > 16777216) == exists);
      const CheckReport wide = relaxed(problem, soc);
      INFO("relaxed " << show(wide));
      CHECK(wide.code == StatusCode::success);
    }
  }
}

TEST_CASE("describe survives nonsense, and check refuses it") {
  ProblemConfig config;
  config.weight_quant_mode = 77;
  CHECK(strict(describe(config)).code == StatusCode::mode_refused);
  config.weight_quant_mode = 1;
  config.kv_cache_quant_mode = -9;
  CHECK(strict(describe(config)).code == StatusCode::mode_refused);

  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const std::int64_t size : {std::int64_t{-1}, kHuge, -kHuge}) {
    for (const bool batched : {false, true}) {
      ProblemConfig absurd;
      absurd.batched = batched;
      absurd.he = absurd.hcq = absurd.n = absurd.d = size;
      absurd.tokens = absurd.batch = absurd.seq = absurd.block_num = absurd.block_size = absurd.sequences = size;
      for (int w = 0; w < 6; ++w) {
        absurd.weight_quant_mode = w;
        INFO(size << " w" << w);
        CHECK(strict(describe(absurd)).code == StatusCode::tiling_error);
        CHECK(relaxed(describe(absurd)).code == StatusCode::tiling_error);
      }
    }
  }
}
