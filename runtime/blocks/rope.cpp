#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/row_kernels.hpp"
#include "mla_prolog/blocks.hpp"
#include "runtime/blocks/arguments.hpp"
#include "runtime/blocks/row_buffer.hpp"

namespace mla_prolog {
namespace {

constexpr std::int64_t kFrequencies = kDr / 2;
constexpr double kPi = 3.14159265358979323846;

// The (fractional) frequency whose wavelength makes `rotations` turns over the original context.
double correction_dimension(double rotations, const RopeTableConfig& config) {
  return static_cast<double>(kDr) * std::log(config.original_max_position_embeddings / (rotations * 2.0 * kPi)) /
         (2.0 * std::log(config.theta));
}

// YaRN's attention factor of the scale.
double yarn_mscale(double factor, double mscale) { return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; }

// theta^(-2i/Dr), in float32 as the models' code has it.
float plain_inv_freq(const RopeTableConfig& config, std::int64_t i, float position_scale) {
  const float exponent = static_cast<float>(2 * i) / static_cast<float>(kDr);
  return 1.0F / (position_scale * std::pow(static_cast<float>(config.theta), exponent));
}

// A number for a refusal's text, clamped: a double that is not finite or too large has no integer.
std::int64_t whole(double value) {
  constexpr double kLargest = 9e18;
  return value != value ? 0 : static_cast<std::int64_t>(std::clamp(value, -kLargest, kLargest));
}

bool fits_float32(double value) { return std::isfinite(static_cast<float>(value)); }

// The frequencies: YaRN keeps the fast ones, divides the slow ones by `factor`, and blends linearly between.
std::array<float, kFrequencies> inverse_frequencies(const RopeTableConfig& config) {
  std::array<float, kFrequencies> inv_freq{};
  for (std::int64_t i = 0; i < kFrequencies; ++i) {
    const float extrapolated = plain_inv_freq(config, i, 1.0F);
    float& value = inv_freq[static_cast<std::size_t>(i)];
    if (!config.yarn) {
      value = extrapolated;
      continue;
    }
    const float interpolated = plain_inv_freq(config, i, static_cast<float>(config.factor));
    const auto low = static_cast<float>(std::max(std::floor(correction_dimension(config.beta_fast, config)), 0.0));
    auto high = static_cast<float>(
        std::min(std::ceil(correction_dimension(config.beta_slow, config)), static_cast<double>(kDr - 1)));
    if (low == high) high += 0.001F;  // the models' code avoids a division by zero so
    const float ramp = std::clamp((static_cast<float>(i) - low) / (high - low), 0.0F, 1.0F);
    const float keep = 1.0F - ramp;
    value = interpolated * (1.0F - keep) + extrapolated * keep;
  }
  return inv_freq;
}

}  // namespace

Status rope(const ConstTensorView& x, const ConstTensorView& sin, const ConstTensorView& cos,
            const TensorView& y) noexcept {
  const std::int64_t tokens = x.desc.rank >= 1 ? x.desc.shape[0] : 0;
  const std::int64_t rows = blocks::row_count(x.desc);
  blocks::Arguments arguments;
  arguments.tensor("x", x, {DType::float32, DType::bf16})
      .rank_at_least("x", x.desc, 2)
      .width("x", x.desc, kDr)
      .tensor("sin", sin, {DType::bf16})
      .rank_at_least("sin", sin.desc, 1)
      .width("sin", sin.desc, kDr)
      .rows("sin", sin.desc, tokens)
      .tensor("cos", cos, {DType::bf16})
      .rank_at_least("cos", cos.desc, 1)
      .width("cos", cos.desc, kDr)
      .rows("cos", cos.desc, tokens)
      .tensor("y", y, {DType::bf16})
      .width("y", y.desc, kDr)
      .rows("y", y.desc, rows)
      .separate("y", y, x)
      .separate("y", y, sin)
      .separate("y", y, cos);
  if (!arguments.ok()) return arguments.status();
  if (rows == 0) return {};

  const kernels::RowKernels* kernels = blocks::row_kernels();
  if (kernels == nullptr) return blocks::isa_unavailable();
  const std::int64_t heads = rows / tokens;
  blocks::RowBuffer row(*kernels, kDr);
  if (!row.ok()) return row.status();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t t = r / heads;
    row.load(x, r);
    kernels->rope(row.values(), static_cast<const kernels::bf16_t*>(sin.data) + t * kDr,
                  static_cast<const kernels::bf16_t*>(cos.data) + t * kDr,
                  static_cast<kernels::bf16_t*>(y.data) + r * kDr);
  }
  return {};
}

Status make_rope_tables(const RopeTableConfig& config, std::span<const std::int64_t> positions, const TensorView& sin,
                        const TensorView& cos) noexcept {
  const auto tokens = static_cast<std::int64_t>(positions.size());
  blocks::Arguments arguments;
  const auto require = [&](bool holds, const char* name, double value) {
    arguments.require(holds, name, whole(value));
  };
  const auto require_positive = [&](const char* name, double value) {
    require(value > 0.0 && std::isfinite(value), name, value);
  };
  require(config.theta > 1.0 && fits_float32(config.theta), "theta", config.theta);
  arguments.tensor("sin", sin, {DType::bf16})
      .rank_at_least("sin", sin.desc, 1)
      .width("sin", sin.desc, kDr)
      .rows("sin", sin.desc, tokens)
      .tensor("cos", cos, {DType::bf16})
      .rank_at_least("cos", cos.desc, 1)
      .width("cos", cos.desc, kDr)
      .rows("cos", cos.desc, tokens)
      .separate("sin", sin, cos);
  if (config.yarn) {
    require(config.factor > 0.0 && fits_float32(config.factor), "factor", config.factor);
    require_positive("original_max_position_embeddings", config.original_max_position_embeddings);
    require_positive("beta_fast", config.beta_fast);
    require_positive("beta_slow", config.beta_slow);
    require(std::isfinite(config.mscale), "mscale", config.mscale);
    require(std::isfinite(config.mscale_all_dim), "mscale_all_dim", config.mscale_all_dim);
  }
  if (!arguments.ok()) return arguments.status();

  const auto inv_freq = inverse_frequencies(config);
  const auto mscale = static_cast<float>(config.yarn ? yarn_mscale(config.factor, config.mscale) /
                                                           yarn_mscale(config.factor, config.mscale_all_dim)
                                                     : 1.0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto position = static_cast<float>(positions[static_cast<std::size_t>(t)]);
    auto* sin_row = static_cast<kernels::bf16_t*>(sin.data) + t * kDr;
    auto* cos_row = static_cast<kernels::bf16_t*>(cos.data) + t * kDr;
    for (std::int64_t i = 0; i < kFrequencies; ++i) {
      const float angle = position * inv_freq[static_cast<std::size_t>(i)];
      sin_row[i] = sin_row[i + kFrequencies] = kernels::bf16_from_float(std::sin(angle) * mscale);
      cos_row[i] = cos_row[i + kFrequencies] = kernels::bf16_from_float(std::cos(angle) * mscale);
    }
  }
  return {};
}

}  // namespace mla_prolog
