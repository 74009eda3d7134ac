#include "tools/model/model.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace mla_prolog::tools {
namespace {

constexpr std::array kPresets{
    ModelPreset{"deepseek-v3", {7168, 1536, 128, 128}},
    ModelPreset{"deepseek-v3.2", {7168, 1536, 128, 128}},
    ModelPreset{"kimi-k2", {7168, 1536, 64, 128}},
    ModelPreset{"longcat-flash", {6144, 1536, 64, 128}},
};

constexpr std::int64_t kLargest = 1 << 24;  // of any dimension: far beyond every model, far from overflow

void require_if_given(const JsonNode& config, std::string_view key, std::int64_t value) {
  const auto node = config.find(key);
  if (!node) return;
  const std::int64_t given = node->integer();
  if (given != value) node->fail("is " + std::to_string(given) + ", the operator has " + std::to_string(value));
}

double number_or(const JsonNode& node, std::string_view key, double fallback) {
  const auto found = node.find(key);
  return found ? found->number() : fallback;
}

// The tables are made in float32, so nothing may be beyond it.
double above(const JsonNode& node, double lowest) {
  const double value = node.number();
  if (value > lowest && value <= std::numeric_limits<float>::max()) return value;
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "is %.9g, must be a float32 number above %g", value, lowest);
  node.fail(text.data());
}

double above_or(const JsonNode& node, std::string_view key, double lowest, double fallback) {
  const auto found = node.find(key);
  return found ? above(*found, lowest) : fallback;
}

// `scaling` is rope_scaling or rope_parameters; the older name of rope_type is type.
void read_scaling(const JsonNode& scaling, RopeTableConfig& rope) {
  rope.theta = above_or(scaling, "rope_theta", 1.0, rope.theta);
  auto type = scaling.find("rope_type");
  if (!type) type = scaling.find("type");
  if (!type || type->text() == "default") return;
  if (type->text() != "yarn") type->fail("RoPE of type \"" + type->text() + "\" is not supported, only yarn");
  if (const auto factor = scaling.find("attention_factor")) factor->fail("is not supported");
  rope.yarn = true;
  rope.factor = above(scaling["factor"], 0.0);
  rope.original_max_position_embeddings =
      above_or(scaling, "original_max_position_embeddings", 0.0, rope.original_max_position_embeddings);
  rope.beta_fast = above_or(scaling, "beta_fast", 0.0, rope.beta_fast);
  rope.beta_slow = above_or(scaling, "beta_slow", 0.0, rope.beta_slow);
  rope.mscale = number_or(scaling, "mscale", rope.mscale);
  rope.mscale_all_dim = number_or(scaling, "mscale_all_dim", rope.mscale_all_dim);
}

RopeTableConfig read_rope(const JsonNode& config) {
  if (const auto interleave = config.find("rope_interleave"); interleave && !interleave->boolean()) {
    interleave->fail("is false; the operator rotates interleaved pairs only");
  }
  RopeTableConfig rope;
  rope.theta = above_or(config, "rope_theta", 1.0, rope.theta);
  if (const auto scaling = config.find("rope_scaling")) read_scaling(*scaling, rope);
  if (const auto parameters = config.find("rope_parameters")) read_scaling(*parameters, rope);
  return rope;
}

// compressed-tensors says per module what is quantised; whether attention is shows in its tensors.
void check_quantization(const JsonNode& config) {
  const auto quantization = config.find("quantization_config");
  if (!quantization) return;
  const JsonNode method = (*quantization)["quant_method"];
  if (method.text() == "compressed-tensors") return;
  if (method.text() != "fp8") {
    method.fail("quantisation \"" + method.text() + "\" is not supported (bf16, f16, f32 and block-scaled fp8 are)");
  }
  if (const auto format = quantization->find("fmt"); format && format->text() != "e4m3") {
    format->fail("fp8 format \"" + format->text() + "\" is not supported, only e4m3");
  }
  if (const auto block = quantization->find("weight_block_size");
      block && block->integers() != std::vector<std::int64_t>{128, 128}) {
    block->fail("fp8 weights must be scaled in blocks of [128, 128]");
  }
}

}  // namespace

std::span<const ModelPreset> model_presets() noexcept { return kPresets; }

const ModelPreset* find_preset(std::string_view name) noexcept {
  const auto* const preset = std::ranges::find(kPresets, name, &ModelPreset::name);
  return preset == kPresets.end() ? nullptr : preset;
}

ModelConfig parse_model_config(std::string_view json, const std::string& file) {
  const nlohmann::json document = parse_json(json, file);
  const JsonNode root(document, file);
  // Models with a vision part keep the language model's settings in a member of their own.
  const auto nested = root.find("text_config");
  const JsonNode config = nested ? *nested : root;

  ModelConfig model;
  model.dims.he = config["hidden_size"].integer(1, kLargest);
  if (config["q_lora_rank"].is_null()) config["q_lora_rank"].fail("is null: this model has no q_a_proj");
  model.dims.hcq = config["q_lora_rank"].integer(1, kLargest);
  model.dims.n = config["num_attention_heads"].integer(1, kLargest);
  model.dims.d = config["qk_nope_head_dim"].integer(1, kLargest);
  require_if_given(config, "kv_lora_rank", kHckv);
  require_if_given(config, "qk_rope_head_dim", kDr);
  if (const auto v = config.find("v_head_dim")) model.v_head_dim = v->integer(1, kLargest);
  if (const auto epsilon = config.find("rms_norm_eps")) model.rms_norm_eps = epsilon->number();
  if (const auto bias = config.find("attention_bias"); bias && bias->boolean()) {
    bias->fail("is true; the operator has no biases");
  }
  model.rope = read_rope(config);
  check_quantization(config);
  if (nested) check_quantization(root);
  return model;
}

}  // namespace mla_prolog::tools
