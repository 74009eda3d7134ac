// The documented oddities of V3.
#include <limits>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

constexpr std::int64_t kTwo32 = std::int64_t{1} << 32;

StatusCode strict_code(const Problem& problem, Soc soc = Soc::automatic) { return strict(problem, soc).code; }

Sample sample_of(int w, int kv, const std::string& cache_mode = "PA_BSND", bool batched = false) {
  Sample sample;
  sample.w = w;
  sample.kv = kv;
  sample.cache_mode = cache_mode;
  sample.batched = batched;
  return sample;
}

}  // namespace

TEST_CASE("modes exist as tabulated, for any 64-bit value") {
  const auto kv_allowed = [](std::int64_t w, std::int64_t kv) {
    if (w == 0) return kv == 0;
    if (w == 1) return kv == 0 || kv == 2 || kv == 3;
    return kv == 0 || kv == 1 || kv == 3;
  };
  for (const std::int64_t w : {-1L, 0L, 1L, 2L, 3L, 4L, 5L, 6L, kTwo32, kTwo32 + 1, kTwo32 + 3}) {
    for (const std::int64_t kv : {-1L, 0L, 1L, 2L, 3L, 4L, kTwo32, kTwo32 + 3}) {
      for (const std::int64_t q : {-1L, 0L, 1L, 2L, kTwo32, kTwo32 + 1}) {
        for (const Soc soc : {Soc::ascend910b, Soc::ascend910_93, Soc::ascend950}) {
          const std::int64_t last = soc == Soc::ascend950 ? 5 : 2;
          const bool exists = w >= 0 && w <= last && kv_allowed(w, kv) && (q == 0 || q == 1);
          Problem problem = make(exists ? sample_of(static_cast<int>(w), static_cast<int>(kv)) : sample_of(0, 0));
          problem.attributes.weight_quant_mode = w;
          problem.attributes.kv_cache_quant_mode = kv;
          problem.attributes.query_quant_mode = q;
          StatusCode code = StatusCode::mode_refused;
          if (exists) code = q == (kv == 1 ? 1 : 0) ? StatusCode::success : StatusCode::tiling_error;
          INFO(w << " " << kv << " " << q << " " << to_string(soc));
          CHECK(strict_code(problem, soc) == code);
        }
      }
    }
  }
}

TEST_CASE("automatic SoC is Ascend950 for weight modes 3 to 5 alone") {
  Problem problem = make(sample_of(3, 0));
  problem.attributes.weight_quant_mode = 6;
  CHECK(strict(problem).message.find("0, 1 or 2") != std::string::npos);
  // A column that only one generation has tells them apart.
  Problem int8_kr = make(sample_of(2, 3));
  int8_kr.kr_cache.dtype = DType::int8;
  CHECK(strict_code(int8_kr, Soc::automatic) == StatusCode::success);
  CHECK(strict_code(int8_kr, Soc::ascend910_93) == StatusCode::success);
  CHECK(strict_code(int8_kr, Soc::ascend950) == StatusCode::param_invalid);
}

TEST_CASE("an empty INT8 kr_cache fits where the generation has a column for it") {
  for (int w = 1; w < 6; ++w) {
    for (const Soc soc : {Soc::ascend910b, Soc::ascend950}) {
      if (w >= 3 && soc != Soc::ascend950) continue;
      Problem problem = make(sample_of(w, 3));
      for (const DType dtype : {DType::bf16, DType::int8}) {
        problem.kr_cache.dtype = dtype;
        const bool fits = dtype == DType::bf16 || w == 1 || soc != Soc::ascend950;
        INFO("w" << w << " " << to_string(soc) << " " << to_string(dtype));
        CHECK(strict_code(problem, soc) == (fits ? StatusCode::success : StatusCode::param_invalid));
      }
    }
  }
}

TEST_CASE("an empty kr_cache of any shape, but of a rank that Ascend 950 likes") {
  const std::vector<std::vector<std::int64_t>> shapes = {{0},     {1, 2, 1, 0}, {0, 1, 64}, {5, 16, 0, 64},
                                                         {0, 64}, {7, 0, 7},    {0, 0},     {1, 1, 1, 1, 0}};
  for (const auto& shape : shapes) {
    Problem problem = make(sample_of(1, 3));
    problem.kr_cache = nd(DType::bf16, shape);
    const bool likes = shape.size() == 1 || shape.size() == 3 || shape.size() == 4;
    INFO(problem.kr_cache.to_string());
    CHECK(strict_code(problem, Soc::ascend910b) == StatusCode::success);
    CHECK(strict_code(problem, Soc::ascend950) == (likes ? StatusCode::success : StatusCode::tiling_error));
    CHECK(relaxed(problem).code == StatusCode::success);
  }
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1}, {5, 16, 1, 64}, {}}) {
    Problem problem = make(sample_of(1, 3));
    problem.kr_cache = nd(DType::bf16, shape);
    INFO(problem.kr_cache.to_string());
    CHECK(strict_code(problem, Soc::ascend910b) == StatusCode::tiling_error);
    CHECK(relaxed(problem).code == StatusCode::tiling_error);
  }
  // Where kr_cache is used, a rank of 1 passes the first look and not the table.
  Problem problem = make(sample_of(0, 0));
  problem.kr_cache = nd(DType::bf16, {0});
  CHECK(strict_code(problem) == StatusCode::tiling_error);
}

TEST_CASE("repository modes are read as 32 bits, then compared as 64") {
  for (const Sample& sample : all_samples()) {
    const std::int64_t right = sample.kv == 3 ? 1 : 0;
    for (const std::int64_t value : {0L, 1L, 2L, -1L, kTwo32, kTwo32 + 1, 1 - kTwo32, 0x7FFFFFFFFFFFFFFFL}) {
      const StatusCode code = value == right ? StatusCode::success : StatusCode::tiling_error;
      Problem ckvkr = make(sample);
      ckvkr.attributes.ckvkr_repo_mode = value;
      Problem scale = make(sample);
      scale.attributes.quant_scale_repo_mode = value;
      INFO(sample.to_string() << " with " << value);
      CHECK(strict_code(ckvkr) == code);
      CHECK(strict_code(scale) == code);
      CHECK(relaxed(ckvkr).code == code);
    }
  }
}

TEST_CASE("tile_size is 128 in every mode, in its low 32 bits") {
  for (const Sample& sample : all_samples()) {
    for (const std::int64_t size : {0L, 64L, 127L, 129L, 256L, -128L, kTwo32}) {
      Problem problem = make(sample);
      problem.attributes.tile_size = size;
      INFO(sample.to_string() << " with " << size);
      CHECK(strict_code(problem) == StatusCode::tiling_error);
    }
    Problem problem = make(sample);
    problem.attributes.tile_size = kTwo32 + 128;
    CHECK(strict_code(problem) == StatusCode::success);
  }
}

TEST_CASE("cache modes are exact names, and go with ranks and per-tile caches as documented") {
  for (const char* name : {"", "pa_bsnd", "PA_BSND ", "PA_BSNDX", "BNSD", "PA_BLK", "TND\n", "NZ", "TNDTND"}) {
    Problem problem = make(sample_of(0, 0));
    problem.attributes.cache_mode = name;
    CHECK(strict_code(problem) == StatusCode::tiling_error);
    CHECK(relaxed(problem).code == StatusCode::tiling_error);
  }
  Problem zero = make(sample_of(0, 0));
  zero.attributes.cache_mode.push_back('\0');
  CHECK(strict_code(zero) == StatusCode::tiling_error);

  for (const char* mode : {"PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ"}) {
    for (const bool batched : {false, true}) {
      for (const int w : {1, 2, 3, 4, 5}) {
        const CheckReport report = strict(make(sample_of(w, 3, mode, batched)));
        INFO(mode << " w" << w << " " << show(report));
        CHECK(report.code == StatusCode::tiling_error);
        CHECK(report.message.find(mode) != std::string::npos);
      }
    }
  }
  // Token ranks that the dense caches do not take, however consistent.
  CHECK(strict_code(make(sample_of(0, 0, "TND", true))) == StatusCode::tiling_error);
  CHECK(strict_code(make(sample_of(0, 0, "BSND", false))) == StatusCode::tiling_error);
  Problem problem = make(sample_of(0, 0, "BSND", false));
  problem.kv_cache = nd(DType::bf16, {0, 0, 1, 512});  // no B and S to contradict 2-D tokens
  problem.kr_cache = nd(DType::bf16, {0, 0, 1, 64});
  CHECK(strict_code(problem) == StatusCode::tiling_error);
}

TEST_CASE("the q_nope scale belongs to per-tensor caches of full quantisation alone") {
  for (const Sample& sample : all_samples()) {
    Problem problem = make(sample);
    const bool belongs = sample.kv == 1;
    problem.dequant_scale_q_nope = nd(DType::float32, {sample.tokens(), sample.n, 1});
    CHECK(strict_code(problem) == (belongs ? StatusCode::success : StatusCode::mode_refused));
    problem.dequant_scale_q_nope = nd(DType::float32, {0});
    CHECK(strict_code(problem) == (belongs ? StatusCode::tiling_error : StatusCode::mode_refused));
  }
}

TEST_CASE("smooth scales in the modes that take them") {
  for (const Sample& sample : all_samples()) {
    for (const auto& desc : {nd(DType::float32, {1, sample.hcq}), nd(DType::float32, {sample.hcq}),
                             nd(DType::bf16, {1, sample.hcq}), nd(DType::float32, {1, sample.hcq - 1})}) {
      Problem problem = make(sample);
      problem.smooth_scales_cq = desc;
      const bool takes = sample.w != 0 && sample.w != 3 && desc == nd(DType::float32, {1, sample.hcq});
      INFO(sample.to_string() << " " << desc.to_string());
      CHECK(strict_code(problem) == (takes ? StatusCode::success : StatusCode::tiling_error));
    }
  }
}

TEST_CASE("without a single output element anything that has a column passes") {
  for (const char* mode : {"TND", "BSND", "PA_BSND"}) {
    Sample sample = sample_of(2, 1, mode, std::string(mode) == "BSND");
    sample.t = sample.s = 0;
    sample.block_num = 0;
    Problem problem = make(sample);
    problem.attributes.tile_size = 1;
    problem.attributes.cache_mode = "no such mode";
    problem.attributes.ckvkr_repo_mode = 77;
    problem.token_x = nd(DType::int8, {1, 2, 3, 4, 5});
    problem.weight_uk = nd(DType::bf16, {});
    problem.rope_cos = nd(DType::bf16, {std::numeric_limits<std::int64_t>::max(), 2});
    problem.k_nope_clip_alpha = nd(DType::float64, {1});
    problem.dequant_scale_x = {};
    problem.smooth_scales_cq = TensorDesc::dense(DType::string, {4}, Format::fractal_z);
    const CheckReport report = strict(problem);
    INFO(mode << " " << show(report));
    CHECK(report.code == StatusCode::success);
    CHECK(report.cann_workspace_bytes == 0);
    CHECK(relaxed(problem).code == StatusCode::tiling_error);

    problem.query = nd(DType::int8, {1});
    CHECK(strict_code(problem) == StatusCode::tiling_error);
  }
}

TEST_CASE("T = 0 with blocks in the cache is checked like any call") {
  for (const Sample& base : all_samples()) {
    if (base.cache_mode.rfind("PA_", 0) != 0) continue;
    Sample sample = base;
    sample.t = sample.s = 0;
    Problem problem = make(sample);
    CHECK(strict_code(problem) == StatusCode::success);
    problem.rope_sin.shape[0] += 1;
    CHECK(strict_code(problem) == StatusCode::tiling_error);
  }
}

TEST_CASE("B * S wraps round at 2^32 as the device counts") {
  Sample sample = sample_of(2, 1, "PA_BSND", true);
  sample.b = 65536;
  sample.s = 65536;
  Problem problem = make(sample);
  CHECK(strict_code(problem) == StatusCode::tiling_error);  // its scales have 2^32 rows, the device expects none
  problem.dequant_scale_x.shape[0] = 0;
  problem.dequant_scale_q_nope.shape[0] = 0;
  CHECK(strict_code(problem) == StatusCode::success);
  CHECK(strict(problem).cann_workspace_bytes == 16777216);  // "no tokens"
  CHECK(relaxed(problem).code == StatusCode::tiling_error);
  CHECK(relaxed(make(sample)).code == StatusCode::success);

  // Only that product wraps: T of 2-D tokens and BlockNum have no limit. Nothing has a negative size.
  sample = sample_of(0, 0);
  sample.t = kTwo32 + 6;
  CHECK(strict_code(make(sample)) == StatusCode::success);
  sample.t = -6;
  CHECK(strict_code(make(sample)) == StatusCode::tiling_error);
  Problem many_blocks = make(sample_of(0, 0));
  for (TensorDesc* cache : {&many_blocks.kv_cache, &many_blocks.kr_cache}) cache->shape[0] = kTwo32 * 256;
  CHECK(strict_code(many_blocks) == StatusCode::success);
}

TEST_CASE("a fused block table of any length, but of rank 1") {
  Sample sample = sample_of(1, 2, "PA_BLK_BSND");
  for (const std::int64_t entries : {0, 1, 7, 1 << 30}) {
    sample.table_entries = entries;
    CHECK(strict_code(make(sample)) == StatusCode::success);
  }
  Problem problem = make(sample);
  problem.cache_index = nd(DType::int64, {1, 4});
  CHECK(strict_code(problem) == StatusCode::tiling_error);
  problem.cache_index = nd(DType::int32, {4});
  CHECK(strict_code(problem) == StatusCode::tiling_error);

  // No sequence at all: the device does not mind, the library cannot place the tokens.
  sample.b = 0;
  CHECK(strict_code(make(sample)) == StatusCode::success);
  CHECK(relaxed(make(sample)).code == StatusCode::tiling_error);
  sample.t = 0;
  CHECK(relaxed(make(sample)).code == StatusCode::success);
}

TEST_CASE("block tables of 3-D tokens have a row of whole blocks for each sequence") {
  for (const std::int64_t s : {1, 15, 16, 17, 32, 33}) {
    Sample sample = sample_of(0, 0, "PA_BLK_NZ", true);
    sample.s = s;
    Problem problem = make(sample);
    CHECK(strict_code(problem) == StatusCode::success);
    problem.cache_index = nd(DType::int64, {sample.b, s / 16});
    CHECK(strict_code(problem) == (s % 16 == 0 ? StatusCode::success : StatusCode::tiling_error));
    problem.cache_index = nd(DType::int64, {sample.b, s});
    CHECK(strict_code(problem) == (s == 1 ? StatusCode::success : StatusCode::tiling_error));
  }
}

TEST_CASE("weights as 2-D or 4-D views, each on its own") {
  for (const Sample& base : all_samples()) {
    Sample sample = base;
    sample.flat_weights = false;
    const Problem stored = make(sample);
    sample.flat_weights = true;
    const Problem flat = make(sample);
    for (int mask = 0; mask < 8; ++mask) {
      Problem problem = stored;
      if ((mask & 1) != 0) problem.weight_dq = flat.weight_dq;
      if ((mask & 2) != 0) problem.weight_uq_qr = flat.weight_uq_qr;
      if ((mask & 4) != 0) problem.weight_dkv_kr = flat.weight_dkv_kr;
      INFO(sample.to_string() << " " << mask);
      CHECK(strict_code(problem) == StatusCode::success);
    }
    // The storage of the other element size.
    Problem problem = stored;
    auto& shape = problem.weight_dq.shape;
    shape = {shape[0] * shape[3] / (48 - shape[3]), shape[1], 16, 48 - shape[3]};
    CHECK(strict_code(problem) == StatusCode::tiling_error);
  }
}

TEST_CASE("messages name parameter, value and rule") {
  Sample sample = sample_of(0, 0);
  sample.n = 22;
  const CheckReport report = strict(make(sample));
  CHECK(report.tensor == TensorId::weight_uk);
  CHECK(report.message == "N is 22 in weight_uk, BF16 [22, 128, 512], must be 1, 2, 4, 8, 16, 32, 64 or 128");

  Problem problem = make(sample_of(0, 0));
  problem.rope_sin = nd(DType::bf16, {7, 64});
  problem.query_rope.dtype = DType::bf16;
  problem.query_rope.shape[0] = 5;
  CHECK(strict(problem).message == "rope_sin is BF16 [7, 64], must be BF16 [6, 64]; wrong too: query_rope");
  problem = make(sample_of(0, 0));
  problem.attributes.cache_mode = "ABCD";
  CHECK(strict(problem).message.find("cache_mode is \"ABCD\", must be PA_BSND") == 0);
  problem = make(sample_of(0, 0));
  problem.weight_dq.format = Format::nd;
  CHECK(strict(problem).message == "weight_dq has format ND, must be FRACTAL_NZ");
  problem = make(sample_of(0, 0));
  problem.cache_index = {};
  CHECK(strict(problem).message == "cache_index is null, must be INT64 [6]");
}
