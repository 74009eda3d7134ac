// A problem in a model's terms, turned into tensor descriptions.
#include <algorithm>
#include <span>

#include "mla_prolog/problem.hpp"
#include "runtime/problem/expectation.hpp"
#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

Dims dims_of(const ProblemConfig& config, const Scenario& scenario) {
  Dims dims;
  dims.batched = config.batched;
  if (config.batched) {
    dims.b = config.batch;
    dims.s = config.seq;
    dims.t = saturating_product(config.batch, config.seq);
  } else {
    dims.b = config.sequences;
    dims.t = config.tokens;
  }
  dims.he = config.he;
  dims.hcq = config.hcq;
  dims.n = config.n;
  dims.d = config.d;
  dims.dr = kDr;
  dims.hckv = kHckv;
  dims.nkv = 1;
  dims.block_num = config.block_num;
  dims.block_size = config.block_size;
  dims.dtile = scenario.dtile();
  return dims;
}

TensorDesc make_desc(const Expectation& expectation, std::int64_t any_size) {
  if (expectation.format == Format::fractal_nz) {
    return TensorDesc::nz(expectation.dtype, expectation.shape[0], expectation.shape[1]);
  }
  auto shape = expectation.shape;
  std::replace(shape.begin(), shape.end(), kAnySize, any_size);
  return TensorDesc::dense(expectation.dtype, std::span(shape).first(static_cast<std::size_t>(expectation.rank)));
}

}  // namespace

Problem describe(const ProblemConfig& config) {
  const Scenario* scenario = find_scenario(config.weight_quant_mode, config.kv_cache_quant_mode);
  // Modes that do not exist get some tensors; the attributes below make `check` name the mode.
  if (scenario == nullptr) scenario = find_scenario(0, 0);

  Layout layout;
  layout.scenario = scenario;
  layout.cache_mode = config.cache_mode;
  layout.dims = dims_of(config, *scenario);
  layout.query_norm = config.query_norm;

  Problem problem;
  for (const TensorId id : all_tensors()) {
    const Expectation expectation = expected(id, layout);
    const bool given = expectation.presence == Presence::required ||
                       (expectation.presence == Presence::optional && config.smooth_scales);
    if (given) problem[id] = make_desc(expectation, config.block_table_entries);
  }
  if (scenario->per_tile()) problem.kr_cache = TensorDesc::dense(DType::bf16, {0});

  Attributes& attributes = problem.attributes;
  attributes.cache_mode = to_string(config.cache_mode);
  attributes.weight_quant_mode = config.weight_quant_mode;
  attributes.kv_cache_quant_mode = config.kv_cache_quant_mode;
  attributes.query_quant_mode = scenario->per_tensor() ? 1 : 0;
  attributes.ckvkr_repo_mode = scenario->per_tile() ? 1 : 0;
  attributes.quant_scale_repo_mode = scenario->per_tile() ? 1 : 0;
  return problem;
}

}  // namespace mla_prolog
