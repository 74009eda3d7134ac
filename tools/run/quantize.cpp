#include "tools/run/quantize.hpp"

#include <stdexcept>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"

namespace mla_prolog::tools {
namespace {

void require_ok(const Status& status) {
  if (!status.ok()) throw std::runtime_error(message(status));
}

// (rows, columns) of a matrix, leading dimensions flattened.
std::pair<std::int64_t, std::int64_t> matrix_size(const FloatTensor& values) {
  const std::int64_t columns = values.shape.back();
  const auto elements = static_cast<std::int64_t>(values.data.size() / element_size(values.dtype));
  return {columns == 0 ? 0 : elements / columns, columns};
}

std::size_t count(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

}  // namespace

Quantized quantize_weight_for(const ScenarioName& scenario, const FloatTensor& weight) {
  const auto [k, n] = matrix_size(weight);
  Quantized result{Buffer(count(k, n)), {}};
  const TensorView codes{TensorDesc::dense(scenario.operand_dtype(), {k, n}), result.codes.data()};
  if (scenario.mx()) {
    result.scale = Buffer(count(n, k / kMxBlock));
    const TensorView scale{TensorDesc::dense(DType::float8_e8m0, {n, k / kMxBlock}), result.scale.data()};
    require_ok(quantize_weight_mx(weight.view(), codes, scale));
  } else {
    result.scale = Buffer(count(n, sizeof(float)));
    const TensorView scale{TensorDesc::dense(DType::float32, {1, n}), result.scale.data()};
    require_ok(quantize_weight(weight.view(), codes, scale));
  }
  return result;
}

Quantized quantize_tokens_for(const ScenarioName& scenario, const FloatTensor& tokens, Profile profile) {
  const auto [rows, he] = matrix_size(tokens);
  const ConstTensorView x{TensorDesc::dense(tokens.dtype, {rows, he}), tokens.data.data()};
  Quantized result{Buffer(count(rows, he)), {}};
  const TensorView codes{TensorDesc::dense(scenario.operand_dtype(), {rows, he}), result.codes.data()};
  if (scenario.mx()) {
    result.scale = Buffer(count(rows, he / kMxBlock));
    const TensorView scale{TensorDesc::dense(DType::float8_e8m0, {rows, he / kMxBlock}), result.scale.data()};
    require_ok(quantize_mx(x, codes, scale));
  } else {
    result.scale = Buffer(count(rows, sizeof(float)));
    const TensorView scale{TensorDesc::dense(DType::float32, {rows, 1}), result.scale.data()};
    require_ok(quantize_per_token(x, {}, profile, codes, scale));
  }
  return result;
}

Buffer encode_with_scale(const ScenarioName& scenario, const FloatTensor& values, const Buffer& scale, bool per_row) {
  const auto [rows, columns] = matrix_size(values);
  const std::int64_t blocks = (per_row ? columns : rows) / kMxBlock;
  std::vector<float> scales(scenario.mx() ? scale.size() : scale.size() / sizeof(float));
  decode(scenario.mx() ? DType::float8_e8m0 : DType::float32, scale.data(), scales.size(), scales.data());
  const auto scale_at = [&, per_row = per_row](std::int64_t row, std::int64_t column) {
    const std::int64_t line = per_row ? row : column;
    const std::int64_t along = per_row ? column : row;
    return scales[static_cast<std::size_t>(scenario.mx() ? line * blocks + along / kMxBlock : line)];
  };
  Buffer codes(count(rows, columns));
  std::vector<float> line(static_cast<std::size_t>(columns));
  std::vector<std::uint16_t> narrow(line.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::size_t first = count(row, columns);
    decode(values.dtype, values.data.bytes().data() + first * element_size(values.dtype), line.size(), line.data());
    if (scenario.mx() && values.dtype != DType::bf16) {  // MX codes are those of bf16 values
      encode(DType::bf16, line.data(), line.size(), narrow.data());
      decode(DType::bf16, narrow.data(), line.size(), line.data());
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      line[static_cast<std::size_t>(column)] /= scale_at(row, column);
    }
    encode(scenario.operand_dtype(), line.data(), line.size(), codes.bytes().data() + first);
  }
  return codes;
}

}  // namespace mla_prolog::tools
