// Of several mistakes the first in the documented order decides.
#include <functional>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

struct Mistake {
  const char* what;
  StatusCode code;
  TensorId tensor;
  std::function<void(Problem&)> make;
};

// In the documented order, for a call of scenario w2kv1 with fused tokens, PA_BLK_NZ and query_norm.
std::vector<Mistake> mistakes() {
  using Id = TensorId;
  constexpr StatusCode kMode = StatusCode::mode_refused;
  constexpr StatusCode kNull = StatusCode::param_nullptr;
  constexpr StatusCode kColumn = StatusCode::param_invalid;
  constexpr StatusCode kTiling = StatusCode::tiling_error;
  std::vector<Mistake> list = {
      {"weight mode", kMode, Id::none, [](Problem& p) { p.attributes.weight_quant_mode = 9; }},
      {"kv mode", kMode, Id::none, [](Problem& p) { p.attributes.kv_cache_quant_mode = 2; }},
      {"query mode", kMode, Id::none, [](Problem& p) { p.attributes.query_quant_mode = 2; }},
      {"no q_nope scale", kMode, Id::dequant_scale_q_nope, [](Problem& p) { p.dequant_scale_q_nope = {}; }},
      {"no q_norm scale", kMode, Id::dequant_scale_q_norm, [](Problem& p) { p.dequant_scale_q_norm = {}; }},
  };
  for (const TensorId id : all_tensors()) {
    if (is_required(id)) list.push_back({"null", kNull, id, [id](Problem& p) { p[id] = {}; }});
  }
  list.push_back({"column", kColumn, Id::weight_uk, [](Problem& p) { p.weight_uk.dtype = DType::float16; }});
  list.push_back({"tile size", kTiling, Id::none, [](Problem& p) { p.attributes.tile_size = 64; }});
  list.push_back({"rank", kTiling, Id::rope_sin, [](Problem& p) { p.rope_sin.rank = 4; }});
  list.push_back({"cache mode", kTiling, Id::none, [](Problem& p) { p.attributes.cache_mode = "pa_blk_nz"; }});
  list.push_back({"sequences", kTiling, Id::actual_seq_len, [](Problem& p) { p.actual_seq_len = {}; }});
  list.push_back({"repository mode", kTiling, Id::none, [](Problem& p) { p.attributes.ckvkr_repo_mode = 1; }});
  list.push_back({"N", kTiling, Id::weight_uk, [](Problem& p) { p.weight_uk.shape[0] = 0; }});
  list.push_back({"table rank", kTiling, Id::cache_index, [](Problem& p) { p.cache_index.rank = 2; }});
  list.push_back({"shape", kTiling, Id::rope_cos, [](Problem& p) { p.rope_cos.shape[0] += 1; }});
  list.push_back({"surplus", kTiling, Id::quant_scale_ckr, [](Problem& p) {
                    p.quant_scale_ckr = nd(DType::float32, {1, 64});
                  }});
  list.push_back({"shape", kTiling, Id::query, [](Problem& p) { p.query.shape[0] += 1; }});
  return list;
}

}  // namespace

TEST_CASE("of two mistakes the first in the documented order is reported") {
  Sample sample;
  sample.w = 2;
  sample.kv = 1;
  sample.cache_mode = "PA_BLK_NZ";
  sample.query_norm = true;
  const auto list = mistakes();
  REQUIRE(list.size() == 5 + 13 + 11);
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t j = i; j < list.size(); ++j) {
      Problem problem = make(sample);
      // The later one is made first, so that neither hides the other.
      list[j].make(problem);
      list[i].make(problem);
      for (const CheckReport& report : {strict(problem, Soc::ascend910b), relaxed(problem)}) {
        INFO(list[i].what << " and " << list[j].what << " give " << show(report));
        CHECK(report.code == list[i].code);
        CHECK(report.tensor == list[i].tensor);
      }
    }
  }
}

TEST_CASE("presence of the optional outputs comes before nulls, nulls before dtypes, dtypes before attributes") {
  Sample sample;
  Problem problem = make(sample);
  problem.attributes.tile_size = 64;
  CHECK(strict(problem).code == StatusCode::tiling_error);
  problem.query.dtype = DType::int8;
  CHECK(strict(problem).code == StatusCode::param_invalid);
  problem.query_rope = {};
  CHECK(strict(problem).code == StatusCode::param_nullptr);
  CHECK(strict(problem).tensor == TensorId::query_rope);
  problem.weight_uk = {};
  CHECK(strict(problem).tensor == TensorId::weight_uk);
  problem.dequant_scale_q_norm = nd(DType::float32, {6, 1});
  CHECK(strict(problem).code == StatusCode::mode_refused);
  CHECK(strict(problem).tensor == TensorId::dequant_scale_q_norm);
}

TEST_CASE("the empty-output shortcut comes after the dtypes") {
  Sample sample;
  sample.cache_mode = "TND";
  sample.t = 0;
  Problem problem = make(sample);
  problem.attributes.cache_mode = "nonsense";
  CHECK(strict(problem).code == StatusCode::success);
  problem.query.dtype = DType::int8;
  CHECK(strict(problem).code == StatusCode::param_invalid);
  problem.query = {};
  CHECK(strict(problem).code == StatusCode::param_nullptr);
  problem.attributes.query_quant_mode = -1;
  CHECK(strict(problem).code == StatusCode::mode_refused);
}
