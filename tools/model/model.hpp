// What a model gives an attention layer: dimensions, and where known its epsilon and RoPE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mla_prolog/blocks.hpp"
#include "tools/io/json.hpp"

namespace mla_prolog::tools {

struct ModelDims {
  std::int64_t he = 0;   ///< hidden_size
  std::int64_t hcq = 0;  ///< q_lora_rank
  std::int64_t n = 0;    ///< heads of all ranks
  std::int64_t d = 0;    ///< qk_nope_head_dim
};

/// A model known by name: dimensions only.
struct ModelPreset {
  std::string_view name;
  ModelDims dims;
};
std::span<const ModelPreset> model_presets() noexcept;
const ModelPreset* find_preset(std::string_view name) noexcept;

/// What a Hugging Face `config.json` says.
struct ModelConfig {
  ModelDims dims;
  std::optional<std::int64_t> v_head_dim;
  std::optional<double> rms_norm_eps;
  RopeTableConfig rope;
};

/// Hidden size, q_lora_rank, heads and nope dim must be there. Throws InputError for what is missing or wrong, and for
/// what the operator cannot compute: other latent or rope widths, attention biases, RoPE other than plain and YaRN,
/// quantisation other than block-scaled fp8.
ModelConfig parse_model_config(std::string_view json, const std::string& file);

}  // namespace mla_prolog::tools
