// V1 and V2: scenarios by dtype, fewer columns, and where they differ from V3.
#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

struct Old {
  Sample sample;
  ApiVersion api;
};

Problem make_old(const Old& old) {
  Problem problem = make(old.sample);
  problem.attributes = {.cache_mode = old.sample.cache_mode};
  if (old.sample.kv == 1) problem.quant_scale_ckv = nd(DType::float32, {1, 512});
  if (old.api == ApiVersion::v1) problem.dequant_scale_q_nope = {};
  return problem;
}

// All that V1 and V2 can do. V1's query is always BF16, so per-tensor caches are V2's alone.
std::vector<Old> all_old() {
  std::vector<Old> result;
  for (Sample sample : all_samples()) {
    if (sample.w > 2 || sample.kv == 3 || (sample.cache_mode != "PA_BSND" && sample.cache_mode != "PA_NZ")) continue;
    sample.query_norm = false;
    if (sample.kv != 1) result.push_back({sample, ApiVersion::v1});
    result.push_back({sample, ApiVersion::v2});
  }
  return result;
}

CheckReport run(const Old& old, const Problem& problem, Soc soc = Soc::ascend910b) {
  return strict(problem, soc, old.api);
}

std::string name(const Old& old) { return (old.api == ApiVersion::v1 ? "V1 " : "V2 ") + old.sample.to_string(); }

}  // namespace

TEST_CASE("V1 and V2 do their scenarios on A2 and A3") {
  const auto calls = all_old();
  REQUIRE(calls.size() == (4 + 5) * 8);
  for (const Old& old : calls) {
    const Problem problem = make_old(old);
    for (const Soc soc : {Soc::automatic, Soc::ascend910b, Soc::ascend910_93}) {
      const CheckReport report = run(old, problem, soc);
      INFO(name(old) << ": " << show(report));
      CHECK(report.code == StatusCode::success);
      CHECK(report.cann_workspace_bytes == strict(make(old.sample)).cann_workspace_bytes);
    }
    // The attributes that V3 has are not looked at.
    Problem other = problem;
    other.attributes = {.cache_mode = old.sample.cache_mode,
                        .weight_quant_mode = 5,
                        .kv_cache_quant_mode = 3,
                        .query_quant_mode = 7,
                        .ckvkr_repo_mode = 1,
                        .quant_scale_repo_mode = 1,
                        .tile_size = 64};
    CHECK(run(old, other, Soc::automatic).code == StatusCode::success);
  }
}

TEST_CASE("V1 and V2 do not exist on Ascend 950, whatever the call") {
  for (const ApiVersion api : {ApiVersion::v1, ApiVersion::v2}) {
    const CheckReport report = strict(Problem{}, Soc::ascend950, api);
    CHECK(report.code == StatusCode::runtime_error);
    CHECK(report.message.find("950") != std::string::npos);
  }
  for (const Old& old : all_old()) {
    CHECK(run(old, make_old(old), Soc::ascend950).code == StatusCode::runtime_error);
  }
}

TEST_CASE("V1 and V2 name the first null tensor of theirs, cache_index before the caches") {
  for (const Old& old : all_old()) {
    std::vector<TensorId> order = {
        TensorId::token_x,       TensorId::weight_dq,        TensorId::weight_uq_qr,      TensorId::weight_uk,
        TensorId::weight_dkv_kr, TensorId::rmsnorm_gamma_cq, TensorId::rmsnorm_gamma_ckv, TensorId::rope_sin,
        TensorId::rope_cos,      TensorId::cache_index,      TensorId::kv_cache,          TensorId::kr_cache,
        TensorId::query,         TensorId::query_rope};
    Problem problem = make_old(old);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      problem[*id] = {};
      const CheckReport report = run(old, problem);
      CHECK(report.code == StatusCode::param_nullptr);
      CHECK(report.tensor == *id);
    }
  }
}

TEST_CASE("V1 and V2 columns") {
  // x weight_uq_qr kv kr query, and the status of a call that is otherwise right for its dtypes
  struct Row {
    const char *x, *uq, *kv, *kr, *query;
    StatusCode v1, v2;
  };
  constexpr StatusCode kOk = StatusCode::success;
  constexpr StatusCode kColumn = StatusCode::param_invalid;
  constexpr StatusCode kTiling = StatusCode::tiling_error;
  const Row rows[] = {
      {"BF16", "BF16", "BF16", "BF16", "BF16", kOk, kOk},
      {"BF16", "INT8", "INT8", "INT8", "BF16", kOk, kOk},
      {"BF16", "INT8", "BF16", "BF16", "BF16", kOk, kOk},
      {"INT8", "INT8", "INT8", "INT8", "BF16", kTiling, kTiling},  // has a kernel, and no scenario
      {"INT8", "INT8", "BF16", "BF16", "BF16", kOk, kOk},
      {"INT8", "INT8", "INT8", "BF16", "INT8", kColumn, kOk},
      {"BF16", "INT8", "INT8", "BF16", "BF16", kColumn, kColumn},  // V3's alone
      {"INT8", "INT8", "INT8", "BF16", "BF16", kColumn, kColumn},
      {"FLOAT8_E4M3FN", "FLOAT8_E4M3FN", "BF16", "BF16", "BF16", kColumn, kColumn},
      {"INT8", "BF16", "BF16", "BF16", "BF16", kColumn, kColumn},
  };
  for (const Row& row : rows) {
    Old old;
    old.sample.w = std::string(row.x) == "INT8" ? 2 : std::string(row.uq) == "INT8" ? 1 : 0;
    old.sample.kv = old.sample.w == 0 || std::string(row.kv) != "INT8" ? 0 : old.sample.w == 1 ? 2 : 1;
    for (const ApiVersion api : {ApiVersion::v1, ApiVersion::v2}) {
      old.api = api;
      Problem problem = make_old(old);
      problem.token_x.dtype = problem.weight_dq.dtype = problem.weight_dkv_kr.dtype = dt(row.x);
      problem.weight_uq_qr.dtype = dt(row.uq);
      problem.kv_cache.dtype = dt(row.kv);
      problem.kr_cache.dtype = dt(row.kr);
      problem.query.dtype = dt(row.query);
      const CheckReport report = run(old, problem);
      INFO(row.x << " " << row.uq << " " << row.kv << " " << row.kr << " " << row.query << ": " << show(report));
      CHECK(report.code == (api == ApiVersion::v1 ? row.v1 : row.v2));
      problem.cache_index.dtype = DType::int32;
      CHECK(run(old, problem).code == StatusCode::param_invalid);
    }
  }
}

TEST_CASE("V1 and V2 cache modes") {
  for (const ApiVersion api : {ApiVersion::v1, ApiVersion::v2}) {
    for (const char* mode : {"BNSD", "BSND", "TND", "PA_BLK_BSND", "PA_BLK_NZ", "", "PA_bsnd"}) {
      Problem problem = make_old({Sample{}, api});
      problem.attributes.cache_mode = mode;
      CHECK(strict(problem, Soc::ascend910b, api).code == StatusCode::tiling_error);
    }
  }
}

TEST_CASE("V1 and V2 sizes") {
  for (const Old& old : all_old()) {
    const auto code = [&](auto change) {
      Old changed = old;
      change(changed.sample);
      return run(changed, make_old(changed)).code;
    };
    CHECK(code([](Sample& c) { c.hcq = 2048; }) == StatusCode::tiling_error);
    CHECK(code([](Sample& c) { c.d = 192; }) == StatusCode::tiling_error);
    CHECK(code([](Sample& c) { c.n = 128; }) == StatusCode::success);
    CHECK(code([](Sample& c) { c.n = 22; }) == StatusCode::tiling_error);
    CHECK(code([](Sample& c) { c.he = 7168; }) == StatusCode::success);
    CHECK(code([](Sample& c) { c.block_size = 8; }) == StatusCode::tiling_error);
    CHECK(code([](Sample& c) { c.t = c.s = 5'000'000; }) == StatusCode::success);

    // The width of kv_cache is compared with itself by the device; the library cannot go along.
    Problem problem = make_old(old);
    problem.kv_cache.shape[3] = 77;
    CHECK(run(old, problem).code == StatusCode::success);
    CHECK(check(problem, {.domain = Domain::relaxed, .soc = Soc::automatic, .api = old.api}).code ==
          StatusCode::tiling_error);
    problem = make_old(old);
    problem.kv_cache = nd(problem.kv_cache.dtype, {5, 16, 512});
    CHECK(run(old, problem).code == StatusCode::tiling_error);
  }
}

TEST_CASE("V1 and V2 tensors missing, of another shape, and too many") {
  for (const Old& old : all_old()) {
    const Problem valid = make_old(old);
    for (const TensorId id : all_tensors()) {
      if (is_required(id) || id == TensorId::cache_index) continue;
      const bool free = id == TensorId::dequant_scale_q_nope && old.api == ApiVersion::v2 && old.sample.kv != 1;
      const bool smooth = id == TensorId::smooth_scales_cq && old.sample.w != 0;
      INFO(name(old) << " " << to_string(id));
      Problem problem = valid;
      if (valid[id].present()) {
        problem[id] = {};
        CHECK(run(old, problem).code == (smooth ? StatusCode::success : StatusCode::tiling_error));
      }
      problem[id] = nd(DType::float32, {3, 1});
      CHECK(run(old, problem).code == (free ? StatusCode::success : StatusCode::tiling_error));
    }
    Problem index = valid;
    index.cache_index.shape[0] += 1;
    CHECK(run(old, index).code == StatusCode::tiling_error);
  }
}

TEST_CASE("the q_nope scale of V2") {
  for (const Old& old : all_old()) {
    if (old.api != ApiVersion::v2) continue;
    INFO(name(old));
    Problem problem = make_old(old);
    // Outside its scenario anything FLOAT goes; it is in the kernel lookup everywhere.
    problem.dequant_scale_q_nope = nd(DType::float16, {old.sample.tokens(), old.sample.n, 1});
    CHECK(run(old, problem).code == StatusCode::param_invalid);
    problem.dequant_scale_q_nope = TensorDesc::dense(DType::float32, {1}, Format::fractal_nz);
    CHECK(run(old, problem).code == StatusCode::param_invalid);
    problem.dequant_scale_q_nope = nd(DType::float32, {1});
    CHECK(run(old, problem).code == (old.sample.kv == 1 ? StatusCode::tiling_error : StatusCode::success));
    problem.dequant_scale_q_nope = {};
    CHECK(run(old, problem).code == (old.sample.kv == 1 ? StatusCode::tiling_error : StatusCode::success));
  }
}

TEST_CASE("V1 and V2 without tokens or blocks") {
  for (Old old : all_old()) {
    INFO(name(old));
    old.sample.t = old.sample.s = 0;
    CHECK(run(old, make_old(old)).cann_workspace_bytes == 16777216);
    old.sample.block_num = 0;
    Problem problem = make_old(old);
    CHECK(run(old, problem).code == StatusCode::success);
    CHECK(run(old, problem).cann_workspace_bytes == 0);
    problem.attributes.cache_mode = "BNSD";
    problem.weight_uk.shape[1] = 3;
    CHECK(run(old, problem).code == StatusCode::success);
    if (old.api == ApiVersion::v2) {
      problem.dequant_scale_q_nope = nd(DType::float32, {1});  // an output with an element
      CHECK(run(old, problem).code == StatusCode::tiling_error);
    }
  }
}
