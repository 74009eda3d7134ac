// Every accepted call, with one thing wrong: the documented status for each kind of mistake in each tensor.
#include <algorithm>
#include <sstream>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

constexpr StatusCode kOk = StatusCode::success;
constexpr StatusCode kMode = StatusCode::mode_refused;
constexpr StatusCode kNull = StatusCode::param_nullptr;
constexpr StatusCode kColumn = StatusCode::param_invalid;
constexpr StatusCode kTiling = StatusCode::tiling_error;

// x weight_uq_qr kv kr query dequant_scale_q_norm
const char* const kColumns22 =
    "BF16 BF16 BF16 BF16 BF16 FLOAT, BF16 INT8 INT8 INT8 BF16 FLOAT, BF16 INT8 BF16 BF16 BF16 FLOAT,"
    "INT8 INT8 INT8 INT8 BF16 FLOAT, INT8 INT8 BF16 BF16 BF16 FLOAT, INT8 INT8 INT8 BF16 INT8 FLOAT,"
    "BF16 INT8 INT8 BF16 BF16 FLOAT, INT8 INT8 INT8 BF16 BF16 FLOAT";
const char* const kColumns35 =
    "BF16 BF16 BF16 BF16 BF16 FLOAT, BF16 INT8 BF16 BF16 BF16 FLOAT, BF16 INT8 INT8 INT8 BF16 FLOAT,"
    "BF16 INT8 INT8 BF16 BF16 FLOAT, INT8 INT8 BF16 BF16 BF16 FLOAT, E4M3 E4M3 BF16 BF16 BF16 FLOAT,"
    "HIF8 HIF8 BF16 BF16 BF16 FLOAT, INT8 INT8 INT8 BF16 INT8 FLOAT, E4M3 E4M3 E4M3 BF16 E4M3 FLOAT,"
    "HIF8 HIF8 HIF8 BF16 HIF8 FLOAT, INT8 INT8 INT8 BF16 BF16 FLOAT, E4M3 E4M3 E4M3 BF16 BF16 FLOAT,"
    "HIF8 HIF8 HIF8 BF16 BF16 FLOAT, E4M3 E4M3 BF16 BF16 BF16 E8M0, E4M3 E4M3 E4M3 BF16 E4M3 E8M0,"
    "E4M3 E4M3 E4M3 BF16 BF16 E8M0";

std::vector<std::vector<DType>> columns(Soc soc) {
  std::vector<std::vector<DType>> result;
  std::stringstream rows(soc == Soc::ascend950 ? kColumns35 : kColumns22);
  for (std::string row; std::getline(rows, row, ',');) {
    std::stringstream words(row);
    result.emplace_back();
    for (std::string word; words >> word;) result.back().push_back(dt(word));
    REQUIRE(result.back().size() == 6);
  }
  REQUIRE(result.size() == (soc == Soc::ascend950 ? 16 : 8));
  return result;
}

bool some_column_fits(const Problem& p, Soc soc) {
  const auto w = static_cast<std::size_t>(p.attributes.weight_quant_mode);
  const DType norm_placeholder = dt(std::vector<std::string>{"BF16", "INT8", "INT8", "E4M3", "E4M3", "HIF8"}.at(w));
  const DType scale_placeholder = dt(w == 3 ? "E8M0" : "FLOAT");
  const DType bf16 = dt("BF16");
  for (const TensorId id : {TensorId::weight_uk, TensorId::rmsnorm_gamma_cq, TensorId::rmsnorm_gamma_ckv,
                            TensorId::rope_sin, TensorId::rope_cos, TensorId::query_rope}) {
    if (p[id].dtype != bf16) return false;
  }
  if (p.dequant_scale_q_nope.present() && p.dequant_scale_q_nope.dtype != dt("FLOAT")) return false;
  for (const auto& column : columns(soc)) {
    if (p.token_x.dtype == column[0] && p.weight_dq.dtype == column[0] && p.weight_dkv_kr.dtype == column[0] &&
        p.weight_uq_qr.dtype == column[1] && p.kv_cache.dtype == column[2] && p.kr_cache.dtype == column[3] &&
        p.query.dtype == column[4] && (p.query_norm.present() ? p.query_norm.dtype : norm_placeholder) == column[1] &&
        (p.dequant_scale_q_norm.present() ? p.dequant_scale_q_norm.dtype : scale_placeholder) == column[5]) {
      return true;
    }
  }
  return false;
}

void expect(const Problem& problem, Soc soc, StatusCode code, const std::string& what) {
  const CheckReport report = strict(problem, soc);
  INFO(what << " on " << to_string(soc) << " gives " << show(report));
  CHECK(report.code == code);
  CHECK(report.message.empty() == (code == kOk));
  if (code == kOk) CHECK(report.tensor == TensorId::none);
  if (report.tensor != TensorId::none) CHECK(report.message.find(to_string(report.tensor)) != std::string::npos);
}

std::string altered(const Sample& sample, TensorId id, const Problem& problem) {
  return sample.to_string() + " with " + std::string(to_string(id)) + " " + problem[id].to_string();
}

// What the call says once the tensor is null.
StatusCode code_without(TensorId id, const Sample& sample) {
  if (is_required(id)) return kNull;
  switch (id) {
    case TensorId::dequant_scale_q_nope:
    case TensorId::dequant_scale_q_norm:
      return kMode;
    case TensorId::query_norm:
      return sample.w == 0 ? kOk : kMode;  // its scale is then one too many
    case TensorId::smooth_scales_cq:
      return kOk;
    default:
      return kTiling;
  }
}

// What the call says once a tensor that was null is given.
StatusCode code_with(TensorId id) {
  switch (id) {
    case TensorId::dequant_scale_q_nope:
    case TensorId::dequant_scale_q_norm:
      return kMode;
    default:
      return kTiling;
  }
}

}  // namespace

TEST_CASE("a tensor that is null") {
  for (const Sample& sample : all_samples()) {
    for (const Soc soc : socs(sample)) {
      for (const TensorId id : all_tensors()) {
        Problem problem = make(sample);
        if (!problem[id].present()) continue;
        problem[id] = {};
        expect(problem, soc, code_without(id, sample), altered(sample, id, problem));
      }
    }
  }
}

TEST_CASE("a tensor too many, whatever it looks like") {
  for (const Sample& sample : all_samples()) {
    for (const Soc soc : socs(sample)) {
      for (const TensorId id : all_tensors()) {
        const Problem valid = make(sample);
        if (valid[id].present()) continue;
        for (const auto& desc : {nd(dt("FLOAT"), {1}), nd(dt("FLOAT"), {0}), nd(dt("INT32"), {2}), nd(dt("INT64"), {6}),
                                 nd(dt("FLOAT"), {1, sample.hcq + 1})}) {
          Problem problem = valid;
          problem[id] = desc;
          StatusCode code = code_with(id);
          if (id == TensorId::query_norm) code = sample.w == 0 ? kColumn : kMode;
          expect(problem, soc, code, altered(sample, id, problem));
        }
        if (id == TensorId::smooth_scales_cq) {
          Problem problem = valid;
          problem[id] = nd(dt("FLOAT"), {1, sample.hcq});
          expect(problem, soc, sample.w == 0 || sample.w == 3 ? kTiling : kOk, altered(sample, id, problem));
        }
      }
    }
  }
}

TEST_CASE("a tensor of another dtype") {
  for (const Sample& sample : all_samples()) {
    if (sample.cache_mode != "PA_BSND" && sample.cache_mode != "PA_BLK_NZ") continue;
    for (const Soc soc : socs(sample)) {
      for (const TensorId id : all_tensors()) {
        const Problem valid = make(sample);
        if (!valid[id].present()) continue;
        for (const DType dtype : all_dtypes()) {
          if (dtype == valid[id].dtype) continue;
          Problem problem = valid;
          problem[id].dtype = dtype;
          StatusCode code = kTiling;
          if (!is_optional_input(id)) code = some_column_fits(problem, soc) ? kTiling : kColumn;
          // Of an empty kr_cache nothing but the column matters.
          if (id == TensorId::kr_cache && sample.kv == 3 && code == kTiling) code = kOk;
          expect(problem, soc, code, altered(sample, id, problem));
        }
      }
    }
  }
}

TEST_CASE("a tensor of another format") {
  for (const Sample& sample : all_samples()) {
    if (sample.cache_mode != "PA_BSND" && sample.cache_mode != "PA_BLK_NZ") continue;
    for (const Soc soc : socs(sample)) {
      for (const TensorId id : all_tensors()) {
        const Problem valid = make(sample);
        if (!valid[id].present()) continue;
        for (const Format format : all_formats()) {
          Problem problem = valid;
          problem[id].format = format;
          const bool fits = is_weight(id) ? format == Format::fractal_nz : nd_like(format);
          expect(problem, soc, fits ? kOk : is_optional_input(id) ? kTiling : kColumn, altered(sample, id, problem));
        }
      }
    }
  }
}

TEST_CASE("a tensor of another rank") {
  for (const Sample& sample : all_samples()) {
    for (const Soc soc : socs(sample)) {
      for (const TensorId id : all_tensors()) {
        const Problem valid = make(sample);
        if (!valid[id].present()) continue;
        for (int rank = 0; rank <= 10; ++rank) {
          if (rank == valid[id].rank) continue;
          const TensorDesc& old = valid[id];
          // Ones in front, or sizes missing there: the element count is kept where it can be.
          std::vector<std::int64_t> shape(static_cast<std::size_t>(std::max(0, rank - old.rank)), 1);
          for (int i = std::max(0, old.rank - rank); i < old.rank; ++i) shape.push_back(old.shape[std::size_t(i)]);
          Problem problem = valid;
          problem[id] = TensorDesc::dense(old.dtype, shape, old.format);
          StatusCode code = kTiling;
          if (id == TensorId::kr_cache && sample.kv == 3 && problem[id].has_zero_elements()) {
            const bool rank_fits = rank == 1 || rank == 3 || rank == 4;
            code = soc != Soc::ascend950 || rank_fits ? kOk : kTiling;
          }
          expect(problem, soc, code, altered(sample, id, problem));
        }
      }
    }
  }
}

TEST_CASE("a tensor with one size changed") {
  for (const Sample& sample : all_samples()) {
    const Soc soc = socs(sample).front();
    for (const TensorId id : all_tensors()) {
      const Problem valid = make(sample);
      for (int i = 0; i < valid[id].rank; ++i) {
        for (const std::int64_t change : {1, -1, 16, 1 << 20}) {
          Problem problem = valid;
          auto& size = problem[id].shape[static_cast<std::size_t>(i)];
          size += change;
          if (size < 0) continue;
          const bool paged = sample.cache_mode.rfind("PA_", 0) == 0;
          const bool table = sample.cache_mode.rfind("PA_BLK_", 0) == 0 && !sample.batched;
          const bool blocks_alone = id == TensorId::kv_cache && sample.kv == 3 && paged;
          bool fits = false;
          // Sizes that nothing else has to agree with: a lone cache's geometry, a fused block table, its sequences.
          if (blocks_alone && i == 0) fits = true;
          if (blocks_alone && i == 1) fits = size % 16 == 0 && size >= 16 && size <= 1024;
          if (table && id == TensorId::cache_index) fits = true;
          if (table && id == TensorId::actual_seq_len) fits = size <= 65536;
          expect(problem, soc, fits ? kOk : kTiling, altered(sample, id, problem));
        }
      }
    }
  }
}
