// Float tensors: widening from files, transposition, cutting, and the made-up weights' statistics.
#include <cmath>
#include <cstring>
#include <vector>

#include "test/catch.hpp"
#include "tools/model/layer_weights.hpp"

using namespace mla_prolog;
using namespace mla_prolog::tools;

TEST_CASE("stored floats widen exactly, also when not aligned in the file") {
  std::vector<std::byte> bytes(1 + 3000 * 4);
  for (std::size_t i = 0; i < 3000; ++i) {
    const float value = static_cast<float>(i) * 0.125F - 7.0F;
    std::memcpy(bytes.data() + 1 + i * 4, &value, 4);
  }
  const StoredTensor tensor{"t", StorageType::f32, {3000}, std::span(bytes).subspan(1)};
  const Buffer values = to_float32(tensor, 2999);
  REQUIRE(values.as<float>().size() == 2999);
  for (std::size_t i = 0; i < 2999; ++i) REQUIRE(values.as<float>()[i] == static_cast<float>(i) * 0.125F - 7.0F);

  const std::uint16_t half[] = {0x3C00, 0xC000, 0x0001, 0x7BFF};  // 1, -2, 2^-24, 65504
  const StoredTensor narrow{"h", StorageType::f16, {4}, std::as_bytes(std::span(half))};
  const Buffer wide = to_float32(narrow, 4);
  CHECK(wide.as<float>()[0] == 1.0F);
  CHECK(wide.as<float>()[1] == -2.0F);
  CHECK(wide.as<float>()[2] == std::ldexp(1.0F, -24));
  CHECK(wide.as<float>()[3] == 65504.0F);
}

TEST_CASE("transposition and cutting move every element where it belongs") {
  for (const std::int64_t rows : {1, 64, 70, 129}) {
    const std::int64_t columns = 67;
    FloatTensor matrix{DType::float32, {rows, columns}, Buffer(static_cast<std::size_t>(rows * columns) * 4)};
    for (std::size_t i = 0; i < matrix.data.as<float>().size(); ++i) matrix.data.as<float>()[i] = static_cast<float>(i);
    const FloatTensor turned = transposed(matrix);
    REQUIRE(turned.shape == std::vector<std::int64_t>{columns, rows});
    bool right = true;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        right = right &&
                turned.data.as<float>()[static_cast<std::size_t>(c * rows + r)] == static_cast<float>(r * columns + c);
      }
    }
    CHECK(right);
  }
  FloatTensor matrix{DType::bf16, {6, 2}, Buffer(24)};
  for (std::size_t i = 0; i < 12; ++i) matrix.data.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  const FloatTensor cut = first_rows_of_groups(matrix, 2, 3, 2);
  CHECK(cut.shape == std::vector<std::int64_t>{2, 2, 2});
  const std::vector<std::uint16_t> expected{0, 1, 2, 3, 6, 7, 8, 9};
  CHECK(std::equal(expected.begin(), expected.end(), cut.data.as<std::uint16_t>().begin()));
}

TEST_CASE("generated weights have the promised spread and depend on seed and name only") {
  const ModelDims dims{256, 192, 2, 64};
  LayerWeights weights = generate_weights(dims, 1);
  LayerWeights again = generate_weights(dims, 1);
  LayerWeights other = generate_weights(dims, 2);
  const auto spread = [](const FloatTensor& tensor) {
    double sum = 0.0;
    double squares = 0.0;
    for (const std::uint16_t code : tensor.data.as<std::uint16_t>()) {
      float value = 0.0F;
      const std::uint32_t bits = std::uint32_t{code} << 16;
      std::memcpy(&value, &bits, 4);
      sum += double{value};
      squares += double{value} * double{value};
    }
    const auto count = static_cast<double>(tensor.data.as<std::uint16_t>().size());
    return std::pair{sum / count, std::sqrt(squares / count)};
  };
  for (const auto& [id, k] : {std::pair{TensorId::weight_dq, 256.0},
                              {TensorId::weight_uq_qr, 192.0},
                              {TensorId::weight_uk, 64.0},
                              {TensorId::weight_dkv_kr, 256.0}}) {
    const auto [mean, deviation] = spread(*weights.find(id));
    CHECK(std::fabs(mean) < 0.02 / std::sqrt(k));
    CHECK(std::fabs(deviation * std::sqrt(k) - 1.0) < 0.02);
    CHECK(std::memcmp(weights.find(id)->data.data(), again.find(id)->data.data(), weights.find(id)->data.size()) == 0);
    CHECK(std::memcmp(weights.find(id)->data.data(), other.find(id)->data.data(), weights.find(id)->data.size()) != 0);
  }
  CHECK(std::fabs(spread(weights.rmsnorm_gamma_cq).first - 1.0) < 0.1);
  CHECK(spread(generate_tokens({64, 256}, 1)).second > 1.2);  // outliers: sqrt(1 + 255 / 256) without noise
}
