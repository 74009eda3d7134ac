#include "test/validation/sample.hpp"

#include <algorithm>
#include <stdexcept>

namespace mla_prolog::test {

DType dt(const std::string& name) {
  if (name == "-") return DType::undefined;
  if (name == "E4M3") return DType::float8_e4m3fn;
  if (name == "E8M0") return DType::float8_e8m0;
  if (name == "HIF8") return DType::hifloat8;
  const auto value = parse<DType>(name);
  if (!value) throw std::invalid_argument("no dtype " + name);
  return *value;
}

TensorDesc nd(DType dtype, std::vector<std::int64_t> shape) { return TensorDesc::dense(dtype, shape); }

TensorDesc nz2(DType dtype, std::int64_t k, std::int64_t n) {
  return TensorDesc::dense(dtype, {k, n}, Format::fractal_nz);
}

std::string Sample::to_string() const {
  // Appended, not added: GCC 12 warns wrongly of an overlap in `"literal" + std::string`.
  std::string text = "w";
  text.append(std::to_string(w)).append("kv").append(std::to_string(kv)).append(" ").append(cache_mode);
  return text + (batched ? " 3-D" : " 2-D") + (smooth ? " smooth" : "") + (query_norm ? " query_norm" : "") +
         (flat_weights ? " flat" : "");
}

Problem make(const Sample& c) {
  const DType x = dt(std::vector<std::string>{"BF16", "BF16", "INT8", "E4M3", "E4M3", "HIF8"}.at(std::size_t(c.w)));
  const DType uq = c.w == 1 ? dt("INT8") : x;
  const DType f32 = dt("FLOAT");
  const DType bf16 = dt("BF16");
  const bool quantised_cache = c.kv != 0;
  const std::int64_t uq_columns = c.n * (c.d + 64);
  const std::int64_t t = c.tokens();

  std::vector<std::int64_t> lead = c.batched ? std::vector{c.b, c.s} : std::vector{c.t};
  const auto per_token = [&](DType dtype, std::vector<std::int64_t> rest) {
    std::vector<std::int64_t> shape = lead;
    shape.insert(shape.end(), rest.begin(), rest.end());
    return nd(dtype, shape);
  };
  const auto weight = [&](DType dtype, std::int64_t k, std::int64_t n) {
    if (c.flat_weights) return nz2(dtype, k, n);
    const std::int64_t w0 = dtype == bf16 ? 16 : 32;
    return TensorDesc::dense(dtype, {n / w0, k / 16, 16, w0}, Format::fractal_nz);
  };

  Problem p;
  p.token_x = per_token(x, {c.he});
  p.weight_dq = weight(x, c.he, c.hcq);
  p.weight_uq_qr = weight(uq, c.hcq, uq_columns);
  p.weight_uk = nd(bf16, {c.n, c.d, 512});
  p.weight_dkv_kr = weight(x, c.he, 576);
  p.rmsnorm_gamma_cq = nd(bf16, {c.hcq});
  p.rmsnorm_gamma_ckv = nd(bf16, {512});
  p.rope_sin = per_token(bf16, {64});
  p.rope_cos = per_token(bf16, {64});

  std::vector<std::int64_t> rows = {c.block_num, c.block_size, 1};
  if (c.cache_mode == "BSND") rows = {c.b, c.s, 1};
  if (c.cache_mode == "TND") rows = {t, 1};
  const auto cache = [&](DType dtype, std::int64_t width) {
    std::vector<std::int64_t> shape = rows;
    shape.push_back(width);
    return nd(dtype, shape);
  };
  p.kv_cache = cache(quantised_cache ? (c.w == 1 ? dt("INT8") : x) : bf16, c.kv == 3 ? 656 : 512);
  p.kr_cache = c.kv == 3 ? nd(bf16, {0}) : cache(c.kv == 2 ? dt("INT8") : bf16, 64);

  if (c.cache_mode == "PA_BSND" || c.cache_mode == "PA_NZ") p.cache_index = per_token(dt("INT64"), {});
  if (c.cache_mode.rfind("PA_BLK_", 0) == 0) {
    if (c.batched) {
      p.cache_index = nd(dt("INT64"), {c.b, (c.s + c.block_size - 1) / c.block_size});
    } else {
      p.cache_index = nd(dt("INT64"), {c.table_entries});
      p.actual_seq_len = nd(dt("INT32"), {c.b});
    }
  }

  if (c.w == 1) p.dequant_scale_w_uq_qr = nd(f32, {1, uq_columns});
  if (c.w == 2 || c.w == 4 || c.w == 5) {
    p.dequant_scale_x = nd(f32, {t, 1});
    p.dequant_scale_w_dq = nd(f32, {1, c.hcq});
    p.dequant_scale_w_uq_qr = nd(f32, {1, uq_columns});
    p.dequant_scale_w_dkv_kr = nd(f32, {1, 576});
  }
  if (c.w == 3) {
    p.dequant_scale_x = nd(dt("E8M0"), {t, c.he / 32});
    p.dequant_scale_w_dq = nd(dt("E8M0"), {c.hcq, c.he / 32});
    p.dequant_scale_w_uq_qr = nd(dt("E8M0"), {uq_columns, c.hcq / 32});
    p.dequant_scale_w_dkv_kr = nd(dt("E8M0"), {576, c.he / 32});
  }
  if (c.kv == 1) p.quant_scale_ckv = nd(f32, {1});
  if (c.kv == 2) {
    p.quant_scale_ckv = nd(f32, {1, 512});
    p.quant_scale_ckr = nd(f32, {1, 64});
  }
  if (c.smooth && c.w != 0 && c.w != 3) p.smooth_scales_cq = nd(f32, {1, c.hcq});
  if (c.kv == 3 && (c.w == 1 || c.w == 2)) p.k_nope_clip_alpha = nd(f32, {1});

  p.query = per_token(c.kv == 1 ? x : bf16, {c.n, 512});
  p.query_rope = per_token(bf16, {c.n, 64});
  if (c.kv == 1) p.dequant_scale_q_nope = nd(f32, {t, c.n, 1});
  if (c.query_norm) {
    p.query_norm = per_token(uq, {c.hcq});
    if (c.w == 3) {
      p.dequant_scale_q_norm = nd(dt("E8M0"), {t, c.hcq / 32});
    } else if (c.w != 0) {
      p.dequant_scale_q_norm = nd(f32, {t, 1});
    }
  }

  p.attributes.cache_mode = c.cache_mode;
  p.attributes.weight_quant_mode = c.w;
  p.attributes.kv_cache_quant_mode = c.kv;
  p.attributes.query_quant_mode = c.kv == 1;
  p.attributes.ckvkr_repo_mode = c.kv == 3;
  p.attributes.quant_scale_repo_mode = c.kv == 3;
  return p;
}

std::vector<Sample> all_samples() {
  const std::vector<std::vector<int>> kv_modes = {{0}, {0, 2, 3}, {0, 1, 3}, {0, 1, 3}, {0, 1, 3}, {0, 1, 3}};
  std::vector<Sample> samples;
  for (int w = 0; w < 6; ++w) {
    for (const int kv : kv_modes[std::size_t(w)]) {
      for (const char* mode : {"PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ", "BSND", "TND"}) {
        const std::string name = mode;
        if (kv == 3 && (name == "PA_NZ" || name == "PA_BLK_BSND" || name == "PA_BLK_NZ")) continue;
        for (const bool batched : {false, true}) {
          if ((name == "BSND" && !batched) || (name == "TND" && batched)) continue;
          for (const bool optional : {false, true}) {
            Sample sample;
            sample.w = w;
            sample.kv = kv;
            sample.cache_mode = name;
            sample.batched = batched;
            sample.smooth = sample.query_norm = optional;
            sample.flat_weights = optional;
            samples.push_back(sample);
          }
        }
      }
    }
  }
  return samples;
}

std::vector<Soc> socs(const Sample& sample) {
  if (sample.w >= 3) return {Soc::ascend950};
  return {Soc::ascend910b, Soc::ascend910_93, Soc::ascend950};
}

std::vector<DType> all_dtypes() {
  std::vector<DType> values;
  for (int number = -1; number < 64; ++number) {
    if (to_string(static_cast<DType>(number)) != "?") values.push_back(static_cast<DType>(number));
  }
  return values;
}

std::vector<Format> all_formats() {
  std::vector<Format> values;
  for (int number = -1; number < 64; ++number) {
    if (to_string(static_cast<Format>(number)) != "?") values.push_back(static_cast<Format>(number));
  }
  return values;
}

bool nd_like(Format format) {
  const std::string_view name = to_string(format);
  return name == "ND" || name == "NCHW" || name == "NHWC" || name == "NCDHW" || name == "DHWCN" || name == "NCL";
}

bool is_weight(TensorId id) {
  return id == TensorId::weight_dq || id == TensorId::weight_uq_qr || id == TensorId::weight_dkv_kr;
}
bool is_required(TensorId id) {
  return id <= TensorId::kr_cache || id == TensorId::query || id == TensorId::query_rope;
}
bool is_optional_input(TensorId id) { return !is_required(id) && !is_output(id); }

CheckReport strict(const Problem& problem, Soc soc, ApiVersion api) {
  return check(problem, {.domain = Domain::strict, .soc = soc, .api = api});
}
CheckReport relaxed(const Problem& problem, Soc soc) {
  return check(problem, {.domain = Domain::relaxed, .soc = soc, .api = ApiVersion::v3});
}

std::string show(const CheckReport& report) {
  return std::to_string(static_cast<int>(report.code)) + " " + std::string(to_string(report.tensor)) + ": " +
         report.message;
}

}  // namespace mla_prolog::test
