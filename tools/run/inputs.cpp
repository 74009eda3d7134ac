#include "tools/run/inputs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "mla_prolog/blocks.hpp"
#include "tools/cases/generator.hpp"
#include "tools/io/digest.hpp"
#include "tools/io/error.hpp"
#include "tools/io/storage.hpp"
#include "tools/run/latent.hpp"
#include "tools/run/quantize.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::array kWeights{
    std::pair{TensorId::weight_dq, TensorId::dequant_scale_w_dq},
    std::pair{TensorId::weight_uq_qr, TensorId::dequant_scale_w_uq_qr},
    std::pair{TensorId::weight_dkv_kr, TensorId::dequant_scale_w_dkv_kr},
};

// Inputs that are the same in all scenarios of a weight mode.
constexpr std::array kOfWeightMode{
    TensorId::token_x,
    TensorId::weight_dq,
    TensorId::weight_uq_qr,
    TensorId::weight_uk,
    TensorId::weight_dkv_kr,
    TensorId::rmsnorm_gamma_cq,
    TensorId::rmsnorm_gamma_ckv,
    TensorId::rope_sin,
    TensorId::rope_cos,
    TensorId::cache_index,
    TensorId::actual_seq_len,
    TensorId::dequant_scale_x,
    TensorId::dequant_scale_w_dq,
    TensorId::dequant_scale_w_uq_qr,
    TensorId::dequant_scale_w_dkv_kr,
    TensorId::smooth_scales_cq,
};

std::vector<std::int64_t> shape_of(const TensorDesc& desc) {
  return {desc.shape.begin(), desc.shape.begin() + desc.rank};
}

std::string quoted(TensorId id) { return "tensor \"" + std::string(to_string(id)) + "\""; }

}  // namespace

std::vector<std::int64_t> logical_shape(const TensorDesc& nz) {
  if (nz.rank != 4) return shape_of(nz);
  return {nz.shape[1] * nz.shape[2], nz.shape[0] * nz.shape[3]};
}

RunInputs::RunInputs(const RunRequest& request, const RunSetting& setting) : request_(request), setting_(setting) {}

const StoredTensor* RunInputs::given(TensorId id) const {
  return setting_.input == nullptr ? nullptr : setting_.input->find(id);
}

Problem RunInputs::problem(const ScenarioName& scenario) const {
  ProblemConfig config = setting_.config;
  config.weight_quant_mode = scenario.weight;
  config.kv_cache_quant_mode = scenario.kv;
  config.smooth_scales = request_.smooth || given(TensorId::smooth_scales_cq) != nullptr;
  Problem problem = describe(config);
  problem.attributes.rmsnorm_epsilon_cq = setting_.eps_cq;
  problem.attributes.rmsnorm_epsilon_ckv = setting_.eps_ckv;
  problem.attributes.qc_qr_scale = request_.qc_qr_scale;
  problem.attributes.kc_scale = request_.kc_scale;
  for (const TensorId id : all_tensors()) {
    // A clip factor that the scenario has no use for is ignored, as the operator does.
    const bool wanted = problem[id].present() || id == TensorId::k_nope_clip_alpha;
    if (given(id) != nullptr && !wanted && setting_.single()) {
      throw UsageError("--input " + setting_.input->path() + ": " + quoted(id) + " is not used by scenario " +
                       scenario.text());
    }
  }
  return problem;
}

std::vector<std::string> RunInputs::warnings() const {
  std::vector<std::string> lines;
  const auto check = [&](TensorId id, TensorId scale_id) {
    const StoredTensor* const stored = given(id);
    if (stored == nullptr || is_float(stored->type) || given(scale_id) != nullptr) return;
    lines.push_back("--input " + setting_.input->path() + ": " + quoted(id) + " holds codes, but " + quoted(scale_id) +
                    ", their scale, is missing: that of other data is used");
  };
  check(TensorId::token_x, TensorId::dequant_scale_x);
  for (const auto& [id, scale_id] : kWeights) check(id, scale_id);
  return lines;
}

void RunInputs::check_shape(const StoredTensor& tensor, const TensorDesc& desc, TensorId id) const {
  const std::vector<std::int64_t> shape = is_nz_weight(id) ? logical_shape(desc) : shape_of(desc);
  if (tensor.shape != shape) {
    setting_.input->fail(tensor, "has shape " + shape_text(tensor.shape) + ", must be " + shape_text(shape));
  }
}

std::optional<Buffer> RunInputs::given_as_is(const Operands& operands, TensorId id) const {
  const StoredTensor* const tensor = given(id);
  if (tensor == nullptr) return std::nullopt;
  const TensorDesc& desc = operands.problem[id];
  check_shape(*tensor, desc, id);
  const DType dtype = operator_dtype(tensor->type, id, operands.problem.attributes.weight_quant_mode);
  if (dtype != desc.dtype) {
    setting_.input->fail(*tensor, "is stored as " + std::string(to_string(tensor->type)) + ", this scenario needs " +
                                      std::string(to_string(desc.dtype)));
  }
  return Buffer::copy_of(tensor->bytes);
}

// Weights and tokens as floats, once for all scenarios; tensors of the input file take the place of the others.
void RunInputs::load_floats() {
  if (loaded_) return;
  const ProblemConfig& config = setting_.config;
  if (setting_.checkpoint != nullptr) {
    weights_ = setting_.checkpoint->load(config.n);
  } else {
    weights_ = generate_weights({config.he, config.hcq, config.n, config.d}, request_.seed);
  }
  std::vector<std::int64_t> x_shape = setting_.lead();
  x_shape.push_back(config.he);
  tokens_ = generate_tokens(x_shape, request_.seed);
  for (const TensorId id : all_tensors()) {
    const StoredTensor* const tensor = given(id);
    FloatTensor* const target = id == TensorId::token_x ? &tokens_ : weights_.find(id);
    if (tensor == nullptr || target == nullptr || !is_float(tensor->type)) continue;
    if (tensor->shape != target->shape) {
      setting_.input->fail(*tensor,
                           "has shape " + shape_text(tensor->shape) + ", must be " + shape_text(target->shape));
    }
    *target = load_float(*tensor);
  }
  loaded_ = true;
}

void RunInputs::make_weight(const ScenarioName& scenario, Operands& operands, TensorId id, TensorId scale_id) {
  const FloatTensor& weight = *weights_.find(id);
  const StoredTensor* const stored = given(id);
  const bool codes_given = stored != nullptr && !is_float(stored->type);
  const bool quantised = operands.problem[id].dtype != DType::bf16;
  Buffer logical;
  if (codes_given) logical = *given_as_is(operands, id);
  if (!quantised && !codes_given) {
    FloatTensor rounded{weight.dtype, weight.shape, Buffer::copy_of(weight.data.bytes())};
    logical = to_bf16(std::move(rounded)).data;
  }
  if (quantised) {
    std::optional<Buffer> scale = given_as_is(operands, scale_id);
    if (scale && !codes_given) logical = encode_with_scale(scenario, weight, *scale, false);
    if (!scale) {
      Quantized made = quantize_weight_for(scenario, weight);
      scale = std::move(made.scale);
      if (!codes_given) logical = std::move(made.codes);
    }
    operands[scale_id] = std::move(*scale);
  }
  operands[id] = Buffer(logical.size());
  nd_to_nz(element_size(operands.problem[id].dtype), weight.shape[0], weight.shape[1], logical.data(),
           operands[id].data());
}

void RunInputs::make_tokens(const ScenarioName& scenario, Operands& operands, Profile profile) {
  const StoredTensor* const stored = given(TensorId::token_x);
  const bool codes_given = stored != nullptr && !is_float(stored->type);
  if (codes_given) operands[TensorId::token_x] = *given_as_is(operands, TensorId::token_x);
  if (!scenario.full()) {
    if (codes_given) return;
    FloatTensor rounded{tokens_.dtype, tokens_.shape, Buffer::copy_of(tokens_.data.bytes())};
    operands[TensorId::token_x] = to_bf16(std::move(rounded)).data;
    return;
  }
  std::optional<Buffer> scale = given_as_is(operands, TensorId::dequant_scale_x);
  if (scale && !codes_given) operands[TensorId::token_x] = encode_with_scale(scenario, tokens_, *scale, true);
  if (!scale) {
    Quantized made = quantize_tokens_for(scenario, tokens_, profile);
    scale = std::move(made.scale);
    if (!codes_given) operands[TensorId::token_x] = std::move(made.codes);
  }
  operands[TensorId::dequant_scale_x] = std::move(*scale);
}

// weight_uk and the gammas: bf16 in every scenario.
void RunInputs::make_float(Operands& operands, TensorId id) {
  if (const StoredTensor* const stored = given(id); stored != nullptr && !is_float(stored->type)) {
    setting_.input->fail(*stored, "is stored as " + std::string(to_string(stored->type)) + ", must be a float");
  }
  const FloatTensor& tensor = *weights_.find(id);
  operands[id] = to_bf16({tensor.dtype, tensor.shape, Buffer::copy_of(tensor.data.bytes())}).data;
}

void RunInputs::make_rope_tables(Operands& operands) {
  const std::vector<std::int64_t> lead = setting_.lead();
  const std::int64_t tokens = setting_.tokens();
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
  for (std::int64_t t = 0; t < tokens; ++t) {
    positions[static_cast<std::size_t>(t)] = request_.positions + (setting_.config.batched ? t % lead[1] : t);
  }
  const TensorDesc table = TensorDesc::dense(DType::bf16, {tokens, kDr});
  Buffer sin(table.extent_bytes());
  Buffer cos(table.extent_bytes());
  const Status status =
      mla_prolog::make_rope_tables(setting_.rope, positions, {table, sin.data()}, {table, cos.data()});
  if (!status.ok()) throw UsageError("rope tables: " + message(status));
  for (const auto& [id, made] : {std::pair{TensorId::rope_sin, &sin}, {TensorId::rope_cos, &cos}}) {
    const StoredTensor* const stored = given(id);
    if (stored == nullptr) {
      operands[id] = std::move(*made);
      continue;
    }
    check_shape(*stored, operands.problem[id], id);
    if (!is_float(stored->type)) {
      setting_.input->fail(*stored, "is stored as " + std::string(to_string(stored->type)) + ", must be a float");
    }
    operands[id] = to_bf16(load_float(*stored)).data;
  }
}

void RunInputs::make_indices(Operands& operands) {
  if (const StoredTensor* const stored = given(TensorId::cache_index)) {
    check_shape(*stored, operands.problem.cache_index, TensorId::cache_index);
  }
  if (operands.problem.cache_index.present()) {
    operands[TensorId::cache_index] = Buffer::copy_of(std::as_bytes(std::span(setting_.cache_index)));
  }
  if (operands.problem.actual_seq_len.present()) {
    Buffer sums(setting_.actual_seq_len.size() * sizeof(std::int32_t));
    std::ranges::transform(setting_.actual_seq_len, sums.as<std::int32_t>().begin(),
                           [](std::int64_t sum) { return static_cast<std::int32_t>(sum); });
    operands[TensorId::actual_seq_len] = std::move(sums);
  }
}

void RunInputs::make_caches(Operands& operands) {
  for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
    std::optional<Buffer> stored = given_as_is(operands, id);
    operands[id] = stored ? std::move(*stored) : Buffer::zeros(operands.problem[id].extent_bytes());
  }
}

void RunInputs::make_smooth_scales(Operands& operands) {
  if (!operands.problem.smooth_scales_cq.present()) return;
  if (std::optional<Buffer> stored = given_as_is(operands, TensorId::smooth_scales_cq)) {
    operands[TensorId::smooth_scales_cq] = std::move(*stored);
    return;
  }
  Buffer scales(operands.problem.smooth_scales_cq.extent_bytes());
  const Generator around_one{.type = GeneratorType::f32, .lo_integer = 0, .hi_integer = 0, .lo = 0.5, .hi = 2.0};
  generate(around_one, request_.seed ^ fnv1a64(to_string(TensorId::smooth_scales_cq)), scales.bytes());
  operands[TensorId::smooth_scales_cq] = std::move(scales);
}

void RunInputs::make_cache_scales(Operands& operands, Profile profile) {
  const Problem& problem = operands.problem;
  if (problem.k_nope_clip_alpha.present()) {
    std::optional<Buffer> stored = given_as_is(operands, TensorId::k_nope_clip_alpha);
    if (stored && request_.k_nope_clip_alpha) {
      throw UsageError("--k-nope-clip-alpha: conflicts with " + quoted(TensorId::k_nope_clip_alpha) + " of " +
                       setting_.input->path());
    }
    Buffer alpha(sizeof(float));
    alpha.as<float>()[0] = static_cast<float>(request_.k_nope_clip_alpha.value_or(1.0));
    operands[TensorId::k_nope_clip_alpha] = stored ? std::move(*stored) : std::move(alpha);
  }
  std::optional<LatentRows> rows;
  for (const TensorId id : {TensorId::quant_scale_ckv, TensorId::quant_scale_ckr}) {
    if (!problem[id].present()) continue;
    if (std::optional<Buffer> stored = given_as_is(operands, id)) {
      operands[id] = std::move(*stored);
      continue;
    }
    if (!rows) rows = latent_rows(operands, profile);
    const bool kv = id == TensorId::quant_scale_ckv;
    const float largest = largest_value((kv ? problem.kv_cache : problem.kr_cache).dtype);
    operands[id] = cache_scale(kv ? rows->c_kv : rows->k_r, kv ? kHckv : kDr, problem[id].numel() != 1, largest);
  }
}

Operands RunInputs::make(const ScenarioName& scenario, const Problem& problem, Profile profile, Operands* before) {
  Operands operands;
  operands.problem = problem;
  if (before != nullptr && before->problem.attributes.weight_quant_mode == scenario.weight) {
    for (const TensorId id : kOfWeightMode) operands[id] = std::move((*before)[id]);
  } else {
    if (before != nullptr) *before = {};
    load_floats();
    for (const auto& [id, scale_id] : kWeights) make_weight(scenario, operands, id, scale_id);
    for (const TensorId id : {TensorId::weight_uk, TensorId::rmsnorm_gamma_cq, TensorId::rmsnorm_gamma_ckv}) {
      make_float(operands, id);
    }
    make_tokens(scenario, operands, profile);
    make_rope_tables(operands);
    make_indices(operands);
    make_smooth_scales(operands);
  }
  make_caches(operands);
  make_cache_scales(operands, profile);
  operands.allocate_outputs();
  return operands;
}

}  // namespace mla_prolog::tools
