// Float weights and tokens as operands of a scenario.
#pragma once

#include "mla_prolog/problem.hpp"
#include "tools/model/float_tensor.hpp"
#include "tools/run/scenario.hpp"

namespace mla_prolog::tools {

/// Codes [rows, columns] and their scales: per column or row in float32, or per MX block in E8M0.
struct Quantized {
  Buffer codes;
  Buffer scale;
};

/// A weight (K, N) by the public functions: per output column, or in MX blocks along K.
Quantized quantize_weight_for(const ScenarioName& scenario, const FloatTensor& weight);
/// Tokens [..., He] by the public functions, per token of the profile, or in MX blocks.
Quantized quantize_tokens_for(const ScenarioName& scenario, const FloatTensor& tokens, Profile profile);

/// Codes for scales that are given: value / scale, rounded as the type is. For a weight there is a scale per column,
/// for tokens (`per_row`) one per row; MX scales cover 32 elements along the other dimension.
Buffer encode_with_scale(const ScenarioName& scenario, const FloatTensor& values, const Buffer& scale, bool per_row);

}  // namespace mla_prolog::tools
