// The building blocks give the bits of the scalar kernels, row by row, for every dtype and shape they take.
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/row_kernels.hpp"
#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

using kernels::QuantKind;

const kernels::RowKernels& scalar() { return kernels::reference_row_kernels(); }

GuardedTensor random_tensor(Rng& rng, DType dtype, std::initializer_list<std::int64_t> shape, double special = 0) {
  GuardedTensor tensor(TensorDesc::dense(dtype, shape),
                       rng.chance(0.5) ? GuardedMemory::Side::end : GuardedMemory::Side::begin);
  std::vector<float> values(static_cast<std::size_t>(tensor.desc().numel()));
  for (float& v : values) v = rng.chance(special) ? rng.any_float() : rng.float_of_exponent(-8, 4);
  REQUIRE(encode(dtype, values.data(), values.size(), tensor.data()));
  return tensor;
}

std::vector<float> decoded(const GuardedTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.desc().numel()));
  REQUIRE(decode(tensor.desc().dtype, tensor.data(), values.size(), values.data()));
  return values;
}

GuardedTensor output(DType dtype, std::initializer_list<std::int64_t> shape) {
  GuardedTensor tensor(TensorDesc::dense(dtype, shape));
  tensor.fill(std::byte{0xA7});
  return tensor;
}

// Byte for byte, but any NaN may stand for a NaN of a float32 that is not stored for others to read.
bool same_bytes(const GuardedTensor& tensor, const void* expected) {
  return tensor.bytes().empty() || std::memcmp(tensor.data(), expected, tensor.bytes().size()) == 0;
}

}  // namespace

TEST_CASE("rms_norm equals the kernel, float32 and bf16, also in place") {
  Rng rng(seed());
  for (const std::int64_t n : {64, 512, 1536}) {
    for (const DType in : {DType::float32, DType::bf16}) {
      for (const DType out : {DType::float32, DType::bf16}) {
        for (const float scale : {1.0F, 1.0F + 0x1p-23F / 2, 1.0F + 0x1p-22F, 0.25F}) {
          const auto v = random_tensor(rng, in, {2, 3, n});
          const auto gamma = random_tensor(rng, DType::bf16, {n});
          const auto y = output(out, {6, n});  // leading dimensions may be grouped otherwise
          const auto v_before = v.snapshot();
          REQUIRE(rms_norm(v.view(), gamma.view(), 1e-6F, scale, y.view()).ok());
          CHECK((v.snapshot() == v_before));
          CHECK((v.intact() && gamma.intact() && y.intact()));

          std::vector<float> expected = decoded(v);
          for (std::size_t r = 0; r < 6; ++r) {
            float* row = expected.data() + r * static_cast<std::size_t>(n);
            scalar().rms_norm(row, n, 1.0F / static_cast<float>(n), 1e-6F, gamma.as<std::uint16_t>().data(), scale,
                              !(std::fabs(scale - 1.0F) < 1.1920929e-7F), row);
          }
          std::vector<std::byte> codes(y.bytes().size());
          REQUIRE(encode(out, expected.data(), expected.size(), codes.data()));
          CHECK(same_bytes(y, codes.data()));
          if (in == out) {
            REQUIRE(rms_norm(v.view(), gamma.view(), 1e-6F, scale, v.view()).ok());
            CHECK(same_bytes(v, codes.data()));
          }
        }
      }
    }
  }
}

TEST_CASE("rope equals the kernel, one head or several, sharing the token's tables") {
  Rng rng(seed());
  for (const DType in : {DType::float32, DType::bf16}) {
    for (const std::int64_t heads : {0, 1, 3}) {  // 0: no head dimension
      const auto x = heads == 0 ? random_tensor(rng, in, {5, 64}, 0.01) : random_tensor(rng, in, {5, heads, 64}, 0.01);
      const auto sin = random_tensor(rng, DType::bf16, {5, 64});
      const auto cos = random_tensor(rng, DType::bf16, {5, 64});
      const std::int64_t rows = 5 * std::max<std::int64_t>(heads, 1);
      const auto y = output(DType::bf16, {rows, 64});
      REQUIRE(rope(x.view(), sin.view(), cos.view(), y.view()).ok());
      const auto values = decoded(x);
      std::vector<std::uint16_t> expected(static_cast<std::size_t>(rows) * 64);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t t = r / std::max<std::int64_t>(heads, 1);
        scalar().rope(values.data() + r * 64, sin.as<std::uint16_t>().data() + t * 64,
                      cos.as<std::uint16_t>().data() + t * 64, expected.data() + r * 64);
      }
      CHECK(same_bytes(y, expected.data()));
      CHECK(y.intact());
    }
  }
}

TEST_CASE("quantize_per_token equals the kernel of the dtype and profile") {
  Rng rng(seed());
  const std::pair<DType, Profile> kinds[] = {{DType::int8, Profile::a2},
                                             {DType::int8, Profile::ascend950},
                                             {DType::int8, Profile::automatic},
                                             {DType::float8_e4m3fn, Profile::ascend950},
                                             {DType::hifloat8, Profile::a2}};
  const QuantKind expected_kinds[] = {QuantKind::int8_a2, QuantKind::int8_950, QuantKind::int8_a2, QuantKind::e4m3,
                                      QuantKind::hif8};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    for (const DType in : {DType::float32, DType::bf16}) {
      for (const std::int64_t n : {1, 7, 64, 333}) {
        for (const bool smooth : {false, true}) {
          const auto x = random_tensor(rng, in, {4, n}, n == 7 ? 0.2 : 0);
          const auto scales = random_tensor(rng, DType::float32, {1, n});
          const auto codes = output(kinds[i].first, {4, n});
          const auto scale = output(DType::float32, {4, 1});
          // A stray pointer of an absent tensor means nothing.
          const ConstTensorView absent{{}, scales.data()};
          REQUIRE(quantize_per_token(x.view(), smooth ? ConstTensorView(scales.view()) : absent, kinds[i].second,
                                     codes.view(), scale.view())
                      .ok());
          const auto values = decoded(x);
          std::vector<std::uint8_t> expected(values.size());
          std::vector<float> expected_scale(4);
          for (std::size_t r = 0; r < 4; ++r) {
            const std::size_t row = r * static_cast<std::size_t>(n);
            scalar().dynamic_quant(expected_kinds[i], values.data() + row, smooth ? scales.as<float>().data() : nullptr,
                                   n, expected.data() + row, &expected_scale[r]);
          }
          CHECK(same_bytes(codes, expected.data()));
          CHECK(same_bytes(scale, expected_scale.data()));
          CHECK((x.intact() && scales.intact() && codes.intact() && scale.intact()));
        }
      }
    }
  }
}

TEST_CASE("quantize_mx equals the kernel; bf16 input is taken as it is") {
  Rng rng(seed());
  for (const DType in : {DType::float32, DType::bf16}) {
    for (const std::int64_t n : {32, 96, 1536}) {
      const auto x = random_tensor(rng, in, {3, n}, 0.01);
      const auto codes = output(DType::float8_e4m3fn, {3, n});
      const auto scale = output(DType::float8_e8m0, {3, n / 32});
      REQUIRE(quantize_mx(x.view(), codes.view(), scale.view()).ok());
      const auto values = decoded(x);
      std::vector<std::uint8_t> expected(values.size());
      std::vector<std::uint8_t> expected_scale(values.size() / 32);
      scalar().mx_quant(values.data(), 3 * n, expected.data(), expected_scale.data());
      CHECK(same_bytes(codes, expected.data()));
      CHECK(same_bytes(scale, expected_scale.data()));
    }
  }
}

TEST_CASE("quantize_per_tile equals the kernel") {
  Rng rng(seed());
  const std::pair<DType, QuantKind> kinds[] = {
      {DType::int8, QuantKind::int8_a2}, {DType::float8_e4m3fn, QuantKind::e4m3}, {DType::hifloat8, QuantKind::hif8}};
  for (const auto& [dtype, kind] : kinds) {
    for (const float alpha : {1.0F, 0.4F, 0.0F, -1.0F}) {
      const auto c = random_tensor(rng, DType::float32, {5, 512}, alpha == 0.4F ? 0.01 : 0);
      const auto codes = output(dtype, {5, 512});
      const auto scale = output(DType::float32, {5, 4});
      REQUIRE(quantize_per_tile(c.view(), alpha, codes.view(), scale.view()).ok());
      std::vector<std::uint8_t> expected(5 * 512);
      std::vector<float> expected_scale(20);
      for (std::size_t tile = 0; tile < 20; ++tile) {
        scalar().tile_quant(kind, c.as<float>().data() + tile * 128, alpha, expected.data() + tile * 128,
                            &expected_scale[tile]);
      }
      CHECK(same_bytes(codes, expected.data()));
      CHECK(same_bytes(scale, expected_scale.data()));
    }
  }
}

}  // namespace mla_prolog::test
