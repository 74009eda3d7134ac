// Weight quantisation against its rule, column by column.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

struct Weight {
  std::int64_t k;
  std::int64_t n;
  GuardedTensor tensor;
  std::vector<float> values;  // as stored

  float at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * n + j)]; }
};

Weight make_weight(Rng& rng, DType dtype, std::int64_t k, std::int64_t n, double special) {
  Weight w{k, n, GuardedTensor(TensorDesc::dense(dtype, {k, n})), {}};
  w.values.resize(static_cast<std::size_t>(k * n));
  for (float& v : w.values) v = rng.chance(special) ? rng.any_float() : rng.float_of_exponent(-10, 2);
  for (std::int64_t i = 0; i < k; ++i) {  // some columns of zeros
    for (std::int64_t j = 5; j < n; j += 37) w.values[static_cast<std::size_t>(i * n + j)] = i % 2 == 0 ? 0.0F : -0.0F;
  }
  REQUIRE(encode(dtype, w.values.data(), w.values.size(), w.tensor.data()));
  REQUIRE(decode(dtype, w.tensor.data(), w.values.size(), w.values.data()));
  return w;
}

std::uint8_t oracle_code(DType dtype, float v) {
  if (dtype == DType::float8_e4m3fn) return oracle_e4m3(v);
  if (dtype == DType::hifloat8) return oracle_hif8(v);
  return std::bit_cast<std::uint8_t>(oracle_int8_chain_c(v));
}

}  // namespace

TEST_CASE("quantize_weight: scale is the column's maximum over the type's, codes are quotients rounded") {
  Rng rng(seed());
  const std::pair<DType, float> kinds[] = {
      {DType::int8, 127.0F}, {DType::float8_e4m3fn, 448.0F}, {DType::hifloat8, 32768.0F}};
  for (const auto& [dtype, largest] : kinds) {
    for (const DType in : {DType::float32, DType::bf16}) {
      for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {32, 64}, {33, 70}, {16, 200}}) {
        const Weight w = make_weight(rng, in, k, n, n == 70 ? 0.01 : 0);
        const GuardedTensor codes(TensorDesc::dense(dtype, {k, n}));
        const GuardedTensor scale(TensorDesc::dense(DType::float32, {1, n}));
        REQUIRE(quantize_weight(w.tensor.view(), codes.view(), scale.view()).ok());
        CHECK((w.tensor.intact() && codes.intact() && scale.intact()));
        for (std::int64_t j = 0; j < n; ++j) {
          float amax = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const float a = std::fabs(w.at(i, j));
            if (std::isnan(a) || std::isnan(amax)) {
              amax = std::numeric_limits<float>::quiet_NaN();
            } else {
              amax = std::max(amax, a);
            }
          }
          const float expected_scale = amax / largest;
          const float actual_scale = scale.as<float>()[static_cast<std::size_t>(j)];
          INFO(to_string(dtype) << " column " << j << " of " << k << " x " << n);
          if (bits_of(actual_scale) != (std::isnan(expected_scale) ? 0x7FC00000U : bits_of(expected_scale))) FAIL();
          for (std::int64_t i = 0; i < k; ++i) {
            const std::uint8_t code = codes.as<std::uint8_t>()[static_cast<std::size_t>(i * n + j)];
            if (code != oracle_code(dtype, w.at(i, j) / expected_scale)) FAIL("row " << i);
          }
        }
      }
    }
  }
}

TEST_CASE("quantize_weight_mx: blocks of 32 along K, rounded to bf16 with ties to even first") {
  Rng rng(seed());
  for (const DType in : {DType::float32, DType::bf16}) {
    for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{32, 1}, {64, 70}, {96, 128}}) {
      const Weight w = make_weight(rng, in, k, n, n == 70 ? 0.01 : 0);
      const GuardedTensor codes(TensorDesc::dense(DType::float8_e4m3fn, {k, n}));
      const GuardedTensor scale(TensorDesc::dense(DType::float8_e8m0, {n, k / 32}));
      REQUIRE(quantize_weight_mx(w.tensor.view(), codes.view(), scale.view()).ok());
      CHECK((w.tensor.intact() && codes.intact() && scale.intact()));
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t b = 0; b < k / 32; ++b) {
          std::vector<double> block;
          double amax = 0;
          bool poisoned = false;
          for (std::int64_t i = 32 * b; i < 32 * (b + 1); ++i) {
            block.push_back(oracle_decode_bf16(oracle_bf16(w.at(i, j))));
            poisoned = poisoned || !std::isfinite(block.back());
            amax = std::max(amax, std::fabs(block.back()));
          }
          const bool empty = amax < 0x1p-126;
          const int expected_scale = poisoned ? 0xFF : (empty ? 0 : std::max(std::ilogb(amax) + 127 - 8, 0));
          const int actual_scale = scale.as<std::uint8_t>()[static_cast<std::size_t>(j * (k / 32) + b)];
          INFO("column " << j << " block " << b << " of " << k << " x " << n);
          if (actual_scale != expected_scale) FAIL("scale " << actual_scale << ", expected " << expected_scale);
          for (std::size_t i = 0; i < 32; ++i) {
            const double scaled = empty ? std::copysign(0.0, block[i]) : std::ldexp(block[i], 127 - expected_scale);
            const auto clamped = static_cast<float>(std::min(std::max(scaled, -448.0), 448.0));
            const std::size_t at = static_cast<std::size_t>((32 * b + static_cast<std::int64_t>(i)) * n + j);
            const std::uint8_t expected = poisoned ? std::uint8_t{0} : oracle_e4m3(clamped);
            if (codes.as<std::uint8_t>()[at] != expected) FAIL("element " << i);
          }
        }
      }
    }
  }
}

TEST_CASE("quantised weights decode to within half a step") {
  Rng rng(seed());
  const Weight w = make_weight(rng, DType::float32, 64, 32, 0);
  const GuardedTensor codes(TensorDesc::dense(DType::int8, {64, 32}));
  const GuardedTensor scale(TensorDesc::dense(DType::float32, {1, 32}));
  REQUIRE(quantize_weight(w.tensor.view(), codes.view(), scale.view()).ok());
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 32; ++j) {
      const double step = scale.as<float>()[static_cast<std::size_t>(j)];
      const double value = step * codes.as<std::int8_t>()[static_cast<std::size_t>(i * 32 + j)];
      CHECK(std::fabs(value - double{w.at(i, j)}) <= 0.5001 * step);
    }
  }
}

}  // namespace mla_prolog::test
