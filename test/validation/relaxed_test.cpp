// The relaxed domain: what it takes beyond the hardware's, and what it does not.
#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

// The scenarios once each, on paged ND caches.
std::vector<Sample> scenarios() {
  std::vector<Sample> result;
  for (const Sample& sample : all_samples()) {
    if (sample.cache_mode == "PA_BSND" && !sample.batched && !sample.smooth) result.push_back(sample);
  }
  return result;
}

void expect(const Sample& sample, bool taken, const std::string& parameter) {
  for (const bool flat : {false, true}) {
    Sample shaped = sample;
    shaped.flat_weights = flat;
    const CheckReport report = relaxed(make(shaped));
    INFO(sample.to_string() << ", " << parameter << ": " << show(report));
    CHECK(report.code == (taken ? StatusCode::success : StatusCode::tiling_error));
    CHECK((taken || report.message.find(parameter) != std::string::npos));
  }
}

}  // namespace

TEST_CASE("relaxed N") {
  for (Sample sample : scenarios()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      sample.n = n;
      expect(sample, true, "N");
    }
    sample.n = 1000;
    expect(sample, true, "N");
    sample.n = 0;
    expect(sample, false, "N");
  }
}

TEST_CASE("relaxed He") {
  for (Sample sample : scenarios()) {
    const bool int8 = sample.w == 1 || sample.w == 2;
    for (const std::int64_t he : {32, 64, 7168 + 32, 131072 - 32, 131072, 131072 + 32}) {
      sample.he = he;
      expect(sample, !int8 || he < 131072, "He");
    }
    for (const std::int64_t he : {0, 16, 48, 1023, 1025}) {
      sample.he = he;
      const CheckReport report = relaxed(make(sample));
      CHECK(report.code == StatusCode::tiling_error);
    }
  }
}

TEST_CASE("relaxed Hcq") {
  for (Sample sample : scenarios()) {
    const bool int8 = sample.w == 1 || sample.w == 2;
    for (const std::int64_t hcq : {64, 128, 1472, 131072 - 64, 131072}) {
      sample.hcq = hcq;
      expect(sample, !int8 || hcq < 131072, "Hcq");
    }
    for (const std::int64_t hcq : {0, 32, 96}) {
      sample.hcq = hcq;
      expect(sample, false, "Hcq");
    }
  }
}

TEST_CASE("relaxed D, with whole FRACTAL_NZ groups of columns") {
  for (Sample sample : scenarios()) {
    const std::int64_t group = sample.w == 0 ? 16 : 32;
    for (std::int64_t n = 1; n <= 3; ++n) {
      sample.n = n;
      for (std::int64_t d = 16; d <= 272; d += 16) {
        sample.d = d;
        expect(sample, n * (d + 64) % group == 0, "N * (D + 64)");
      }
      for (const std::int64_t d : {0, 8, 24, 129}) {
        sample.d = d;
        const CheckReport report = relaxed(make(sample));
        CHECK(report.code == StatusCode::tiling_error);
        CHECK(report.message.find("D is") == 0);
      }
    }
  }
}

TEST_CASE("relaxed BlockSize: any for ND caches, the hardware's for NZ caches") {
  for (const Sample& base : all_samples()) {
    if (base.cache_mode.rfind("PA_", 0) != 0) continue;
    for (const std::int64_t size : {0, 1, 7, 15, 16, 17, 1024, 1025, 1040, 100000}) {
      Sample sample = base;
      sample.block_size = size;
      if (size == 0 && sample.batched && sample.cache_mode.rfind("PA_BLK_", 0) == 0) continue;
      const bool nz = sample.cache_mode == "PA_NZ" || sample.cache_mode == "PA_BLK_NZ";
      expect(sample, nz ? size >= 16 && size <= 1024 && size % 16 == 0 : size >= 1, "BlockSize");
    }
  }
}

TEST_CASE("relaxed ignores a clip factor that the scenario has no use for") {
  for (const Sample& sample : all_samples()) {
    const bool used = sample.kv == 3 && (sample.w == 1 || sample.w == 2);
    for (const auto& desc : {nd(DType::float32, {1}), nd(DType::int8, {-4, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
                             TensorDesc::dense(DType::string, {1, 2}, Format::fractal_z)}) {
      Problem problem = make(sample);
      problem.k_nope_clip_alpha = desc;
      const bool right = desc == nd(DType::float32, {1});
      const CheckReport report = relaxed(problem);
      INFO(sample.to_string() << " " << desc.to_string() << ": " << show(report));
      CHECK(report.code == (!used || right ? StatusCode::success : StatusCode::tiling_error));
      CHECK(strict(problem).code == (used && right ? StatusCode::success : StatusCode::tiling_error));
    }
    if (used) {
      Problem problem = make(sample);
      problem.k_nope_clip_alpha = {};
      CHECK(relaxed(problem).code == StatusCode::tiling_error);
    }
  }
}

TEST_CASE("relaxed takes an empty kr_cache of any dtype and rank with per-tile caches") {
  for (const Sample& sample : all_samples()) {
    if (sample.kv != 3) continue;
    for (const DType dtype : all_dtypes()) {
      for (const auto& shape : std::vector<std::vector<std::int64_t>>{{0}, {0, 3}, {1, 2, 1, 0}, {4, 4, 4, 0, 4, 4}}) {
        Problem problem = make(sample);
        problem.kr_cache = nd(dtype, shape);
        CHECK(relaxed(problem).code == StatusCode::success);
      }
      Problem problem = make(sample);
      problem.kr_cache = nd(dtype, {1, 64});
      CHECK(relaxed(problem).code != StatusCode::success);
    }
    Problem problem = make(sample);
    problem.kr_cache = {};
    CHECK(relaxed(problem).code == StatusCode::param_nullptr);
  }
}

TEST_CASE("relaxed takes every mode whatever the SoC, and refuses what no generation has") {
  for (const Sample& sample : all_samples()) {
    for (const Soc soc : {Soc::automatic, Soc::ascend910b, Soc::ascend910_93, Soc::ascend950}) {
      CHECK(relaxed(make(sample), soc).code == StatusCode::success);
    }
    Problem problem = make(sample);
    problem.attributes.weight_quant_mode = 6;
    CHECK(relaxed(problem).code == StatusCode::mode_refused);
    problem = make(sample);
    problem.query.dtype = DType::float16;
    CHECK(relaxed(problem).code == StatusCode::param_invalid);
    problem = make(sample);
    problem.token_x = {};
    CHECK(relaxed(problem).code == StatusCode::param_nullptr);
  }
}

TEST_CASE("relaxed counts in 64 bits and refuses what no memory holds") {
  Sample sample;
  sample.t = (std::int64_t{1} << 32) + 5;
  CHECK(relaxed(make(sample)).code == StatusCode::success);
  sample.t = std::int64_t{1} << 53;  // token_x would have 2^64 bytes
  const CheckReport report = relaxed(make(sample));
  CHECK(report.code == StatusCode::tiling_error);
  CHECK(report.message.find("2^63") != std::string::npos);
  sample.t = -1;
  CHECK(relaxed(make(sample)).code == StatusCode::tiling_error);
}
