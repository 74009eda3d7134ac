#include "tools/run/latent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"
#include "tools/run/scenario.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::int64_t kColumns = kHckv + kDr;
constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kMaxWidth = 32;

void require_ok(const Status& status) {
  if (!status.ok()) throw std::runtime_error(message(status));
}

// The matmul x . weight_dkv_kr in float32. All operand types are decoded to float32; products of them are exact, so a
// multiply and an add round like the operator's fma. int8 sums are exact within a chunk (512 * 2^14 < 2^24).
struct Projection {
  const Operands& operands;
  DType dtype;
  bool mx;
  std::int64_t he;
  std::int64_t width;  // columns of an NZ group

  void sum_block(const float* x, const float* panel, std::int64_t begin, std::int64_t end, float* sums) const {
    std::fill_n(sums, width, 0.0F);
    for (std::int64_t k = begin; k < end; ++k) {
      const float* const row = panel + k * width;
      for (std::int64_t j = 0; j < width; ++j) sums[j] += x[k] * row[j];
    }
  }

  float scaled(float sum, std::uint8_t a, std::uint8_t b) const {
    if (a == 0xFF || b == 0xFF) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(sum, int{a} + int{b} - 254);
  }

  // One chunk of up to 512 k.
  void sum_chunk(const float* x, const std::uint8_t* x_scale, const float* panel, const std::uint8_t* w_scale,
                 std::int64_t begin, std::int64_t end, float* sums) const {
    if (!mx) {
      sum_block(x, panel, begin, end, sums);
      return;
    }
    std::fill_n(sums, width, 0.0F);
    const std::int64_t blocks = he / kMxBlock;
    for (std::int64_t k = begin; k < end; k += kMxBlock) {
      float block[kMaxWidth];
      sum_block(x, panel, k, k + kMxBlock, block);
      for (std::int64_t j = 0; j < width; ++j) {
        sums[j] += scaled(block[j], x_scale[k / kMxBlock], w_scale[j * blocks + k / kMxBlock]);
      }
    }
  }

  // Columns [first, first + width) of all tokens.
  void run_panel(std::int64_t first, std::int64_t tokens, float* out) const {
    const std::size_t size = element_size(dtype);
    const auto panel_elements = static_cast<std::size_t>(he * width);
    const std::byte* const codes = operands[TensorId::weight_dkv_kr].bytes().data() +
                                   static_cast<std::size_t>(first / width) * panel_elements * size;
    std::vector<float> panel(panel_elements);
    decode(dtype, codes, panel_elements, panel.data());
    std::vector<float> x(static_cast<std::size_t>(he));
    const auto* const x_scale = operands[TensorId::dequant_scale_x].as<std::uint8_t>().data();
    const auto* const w_scale = operands[TensorId::dequant_scale_w_dkv_kr].as<std::uint8_t>().data();
    const std::int64_t blocks = he / kMxBlock;
    for (std::int64_t t = 0; t < tokens; ++t) {
      decode(dtype, operands[TensorId::token_x].bytes().data() + static_cast<std::size_t>(t * he) * size, x.size(),
             x.data());
      float total[kMaxWidth] = {};
      std::int32_t integers[kMaxWidth] = {};
      for (std::int64_t k = 0; k < he; k += kChunk) {
        float chunk[kMaxWidth];
        sum_chunk(x.data(), mx ? x_scale + t * blocks : nullptr, panel.data(), mx ? w_scale + first * blocks : nullptr,
                  k, std::min(k + kChunk, he), chunk);
        for (std::int64_t j = 0; j < width; ++j) {
          integers[j] += dtype == DType::int8 ? static_cast<std::int32_t>(chunk[j]) : 0;
          total[j] = k == 0 ? chunk[j] : total[j] + chunk[j];
        }
      }
      for (std::int64_t j = 0; j < width; ++j) {
        out[t * kColumns + first + j] = dtype == DType::int8 ? static_cast<float>(integers[j]) : total[j];
      }
    }
  }
};

float rounded_to_bf16(float value) {
  std::uint16_t code = 0;
  encode(DType::bf16, &value, 1, &code);
  decode(DType::bf16, &code, 1, &value);
  return value;
}

// What the RmsNorm and the rotation see of a matmul result.
void dequantise(const Operands& operands, const ScenarioName& scenario, Profile profile, std::int64_t tokens,
                float* rows) {
  if (scenario.mx()) return;
  const auto x_scale = operands[TensorId::dequant_scale_x].as<float>();
  const auto w_scale = operands[TensorId::dequant_scale_w_dkv_kr].as<float>();
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      float& value = rows[t * kColumns + j];
      if (!scenario.full()) {
        value = rounded_to_bf16(value);
        continue;
      }
      const float of_token = x_scale[static_cast<std::size_t>(t)];
      const float of_channel = w_scale[static_cast<std::size_t>(j)];
      value = profile == Profile::a2 ? value * of_token * of_channel : value * of_channel * of_token;
    }
  }
}

}  // namespace

LatentRows latent_rows(const Operands& operands, Profile profile) {
  const Attributes& attributes = operands.problem.attributes;
  const TensorDesc& x = operands.problem.token_x;
  const ScenarioName scenario{attributes.weight_quant_mode, attributes.kv_cache_quant_mode};
  const std::int64_t he = x.shape[static_cast<std::size_t>(x.rank - 1)];
  const std::int64_t tokens = he == 0 ? 0 : x.numel() / he;
  const auto count = static_cast<std::size_t>(tokens);
  LatentRows rows{Buffer(count * kHckv * sizeof(float)), Buffer(count * kDr * sizeof(float))};
  if (tokens == 0) return rows;

  const Projection projection{operands, x.dtype, scenario.mx(), he, nz_width(x.dtype)};
  Buffer projected(count * kColumns * sizeof(float));
  float* const sums = projected.as<float>().data();
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < kColumns; first += projection.width) {
    projection.run_panel(first, tokens, sums);
  }
  dequantise(operands, scenario, profile, tokens, sums);

  Buffer rope_in(count * kDr * sizeof(float));
  for (std::size_t t = 0; t < count; ++t) {
    std::copy_n(sums + t * kColumns, kHckv, rows.c_kv.as<float>().data() + t * kHckv);
    std::copy_n(sums + t * kColumns + kHckv, kDr, rope_in.as<float>().data() + t * kDr);
  }
  const TensorView c{TensorDesc::dense(DType::float32, {tokens, kHckv}), rows.c_kv.data()};
  const ConstTensorView gamma{operands.problem.rmsnorm_gamma_ckv, operands[TensorId::rmsnorm_gamma_ckv].data()};
  require_ok(rms_norm(c, gamma, static_cast<float>(attributes.rmsnorm_epsilon_ckv),
                      static_cast<float>(attributes.kc_scale), c));

  const TensorDesc table = TensorDesc::dense(DType::bf16, {tokens, kDr});
  Buffer rotated(count * kDr * sizeof(std::uint16_t));
  require_ok(rope({TensorDesc::dense(DType::float32, {tokens, kDr}), rope_in.data()},
                  {table, operands[TensorId::rope_sin].data()}, {table, operands[TensorId::rope_cos].data()},
                  {table, rotated.data()}));
  decode(DType::bf16, rotated.data(), count * kDr, rows.k_r.as<float>().data());
  return rows;
}

Buffer cache_scale(const Buffer& rows, std::int64_t columns, bool per_column, float largest) {
  const auto width = static_cast<std::size_t>(columns);
  std::vector<float> amax(per_column ? width : 1, 0.0F);
  const auto values = rows.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = amax[per_column ? i % width : 0];
    most = std::max(most, std::fabs(values[i]));
  }
  Buffer scale(amax.size() * sizeof(float));
  std::ranges::transform(amax, scale.as<float>().begin(), [largest](float most) {
    const float quotient = largest / most;
    return std::isfinite(quotient) && quotient > 0.0F ? quotient : 1.0F;
  });
  return scale;
}

}  // namespace mla_prolog::tools
