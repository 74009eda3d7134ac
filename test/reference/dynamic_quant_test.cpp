// Row-max quantisation per kind and profile, and quantisation with a given scale, against their formulas with one
// rounding per operation; zero rows, NaN, infinity and rows too small for a reciprocal.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/row_kernels.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

using kernels::QuantKind;

constexpr QuantKind kAllKinds[] = {QuantKind::int8_a2, QuantKind::int8_a2_query, QuantKind::int8_950, QuantKind::e4m3,
                                   QuantKind::hif8};

bool by_reciprocal(QuantKind kind) { return kind == QuantKind::int8_a2 || kind == QuantKind::int8_a2_query; }

std::uint8_t oracle_code(QuantKind kind, float v) {
  switch (kind) {
    case QuantKind::int8_a2:
      return std::bit_cast<std::uint8_t>(oracle_int8_chain_a(v));
    case QuantKind::int8_a2_query:
      return std::bit_cast<std::uint8_t>(oracle_int8_chain_b(v));
    case QuantKind::int8_950:
      return std::bit_cast<std::uint8_t>(oracle_int8_chain_c(v));
    case QuantKind::e4m3:
      return oracle_e4m3(v);
    case QuantKind::hif8:
      return oracle_hif8(v);
  }
  return 0;
}

// fp32(1/MAX), by bit pattern.
float reciprocal_max(QuantKind kind) {
  const std::uint32_t bits =
      kind == QuantKind::e4m3 ? 0x3B124925U : (kind == QuantKind::hif8 ? 0x38000000U : 0x3C010204U);
  return std::bit_cast<float>(bits);
}

struct Row {
  std::vector<std::uint8_t> codes;
  float scale = 0;
};

Row oracle_quant(QuantKind kind, const std::vector<float>& y, const std::vector<float>& smooth) {
  std::vector<float> v;
  float amax = 0;
  bool any_nan = false;
  for (std::size_t i = 0; i < y.size(); ++i) {
    v.push_back(smooth.empty() ? y[i] : oracle_mul(y[i], smooth[i]));
    any_nan = any_nan || std::isnan(v.back());
    amax = std::max(amax, std::fabs(v.back()));
  }
  if (any_nan) amax = NAN;
  Row row;
  row.scale = by_reciprocal(kind) ? amax / 127.0F : oracle_mul(amax, reciprocal_max(kind));
  const float reciprocal = 127.0F / amax;
  for (const float value : v) {
    row.codes.push_back(oracle_code(kind, by_reciprocal(kind) ? oracle_mul(value, reciprocal) : value / row.scale));
  }
  return row;
}

Row actual_quant(QuantKind kind, const std::vector<float>& y, const std::vector<float>& smooth) {
  Row row;
  row.codes.resize(y.size());
  kernels::reference_row_kernels().dynamic_quant(kind, y.data(), smooth.empty() ? nullptr : smooth.data(),
                                                 static_cast<std::int64_t>(y.size()), row.codes.data(), &row.scale);
  return row;
}

void check_row(QuantKind kind, const std::vector<float>& y, const std::vector<float>& smooth = {}) {
  const Row actual = actual_quant(kind, y, smooth);
  const Row expected = oracle_quant(kind, y, smooth);
  INFO("kind " << static_cast<int>(kind) << ", n " << y.size() << ", y[0] " << y[0]);
  CHECK(bits_of(actual.scale) == (std::isnan(expected.scale) ? 0x7FC00000U : bits_of(expected.scale)));
  CHECK(actual.codes == expected.codes);
}

}  // namespace

TEST_CASE("dynamic_quant on random rows of every kind") {
  Rng rng(seed());
  for (const QuantKind kind : kAllKinds) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<float> y(static_cast<std::size_t>(rng.integer(1, 300)));
      const int spread = repeat % 3 == 0 ? 40 : 3;
      for (auto& value : y) value = rng.float_of_exponent(-spread, spread);
      check_row(kind, y);
      std::vector<float> smooth(y.size());
      for (auto& value : smooth) value = rng.float_of_exponent(-2, 2);
      check_row(kind, y, smooth);
    }
  }
}

TEST_CASE("dynamic_quant on bf16 rows, whose quotients often tie") {
  Rng rng(seed());
  for (const QuantKind kind : kAllKinds) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<float> y(512);
      for (auto& value : y) value = static_cast<float>(oracle_decode_bf16(oracle_bf16(rng.float_of_exponent(-4, 0))));
      y[0] = repeat % 2 == 0 ? 127.0F / 64 : 1.0F;  // a scale that is a power of two, or near one
      check_row(kind, y);
    }
  }
}

TEST_CASE("dynamic_quant: a zero row has scale 0 and codes 0") {
  for (const QuantKind kind : kAllKinds) {
    const Row row = actual_quant(kind, {0.0F, -0.0F, 0.0F}, {});
    CHECK(same(row.scale, 0.0F));
    CHECK(row.codes == std::vector<std::uint8_t>(3, 0));
  }
}

TEST_CASE("dynamic_quant: NaN and infinity make the scale, codes become 0") {
  for (const QuantKind kind : kAllKinds) {
    for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
      for (const std::size_t at : {0U, 1U, 3U}) {
        std::vector<float> y{1, -2, 3, 4};
        y[at] = bad;
        const Row row = actual_quant(kind, y, {});
        CHECK(bits_of(row.scale) == (std::isnan(bad) ? 0x7FC00000U : 0x7F800000U));
        // Finite over infinity is a zero of the element's sign: only e4m3 has a code for the negative one.
        for (std::size_t i = 0; i < y.size(); ++i) {
          const bool negative_zero = kind == QuantKind::e4m3 && i != at && y[i] < 0 && std::isinf(bad);
          CHECK(row.codes[i] == (negative_zero ? 0x80 : 0x00));
        }
        check_row(kind, y);
      }
    }
    check_row(kind, {1.0F, INFINITY}, {1.0F, 0.0F});  // inf * 0 in the smoothing
    check_row(kind, {1e30F, 1.0F}, {1e30F, 1.0F});    // overflow in the smoothing
  }
}

TEST_CASE("dynamic_quant: where 127/amax overflows, a2 saturates and 950 does not") {
  const std::vector<float> tiny{3e-37F, -1e-37F, 0.0F, 1e-40F, -3e-37F};
  const Row a2 = actual_quant(QuantKind::int8_a2, tiny, {});
  const auto code = [](const Row& row, std::size_t i) { return std::bit_cast<std::int8_t>(row.codes[i]); };
  CHECK(code(a2, 0) == 127);
  CHECK(code(a2, 1) == -128);  // -infinity saturates
  CHECK(code(a2, 2) == 0);     // 0 * infinity is NaN
  CHECK(code(a2, 3) == 127);
  const Row ascend950 = actual_quant(QuantKind::int8_950, tiny, {});
  CHECK(code(ascend950, 0) == 127);
  CHECK(code(ascend950, 1) == -42);
  CHECK(code(ascend950, 4) == -127);
  for (const QuantKind kind : kAllKinds) {
    check_row(kind, tiny);
    check_row(kind, {std::bit_cast<float>(1U), -std::bit_cast<float>(3U), 0.0F});
    check_row(kind, {3.402823e38F, -1.0F, 0.0F});
  }
}

TEST_CASE("dynamic_quant: the maximum itself gets the largest code") {
  Rng rng(seed());
  for (int repeat = 0; repeat < 20000; ++repeat) {
    const float amax = rng.float_of_exponent(-100, 100);
    for (const QuantKind kind : kAllKinds) {
      const std::uint8_t code = actual_quant(kind, {std::fabs(amax)}, {}).codes[0];
      const std::uint8_t largest = kind == QuantKind::e4m3 ? 0x7E : (kind == QuantKind::hif8 ? 0x6E : 127);
      if (code != largest) FAIL("amax " << amax << " kind " << static_cast<int>(kind) << " code " << int{code});
    }
  }
}

TEST_CASE("static_quant: one product, one conversion, per tensor or per channel") {
  Rng rng(seed());
  for (const QuantKind kind : {QuantKind::int8_a2, QuantKind::int8_950, QuantKind::e4m3, QuantKind::hif8}) {
    for (const bool per_channel : {false, true}) {
      std::vector<float> c(2048);
      std::vector<float> scale(c.size());
      for (auto& value : c) value = rng.float_of_exponent(-6, 6);
      for (auto& value : scale) value = rng.float_of_exponent(-4, 8);
      c[0] = NAN;
      c[1] = INFINITY;
      c[2] = -INFINITY;
      c[3] = -0.0F;
      c[4] = std::bit_cast<float>(1U);
      std::vector<std::uint8_t> codes(c.size());
      kernels::reference_row_kernels().static_quant(kind, c.data(), scale.data(), per_channel ? 1 : 0,
                                                    static_cast<std::int64_t>(c.size()), codes.data());
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (codes[i] != oracle_code(kind, oracle_mul(c[i], scale[per_channel ? i : 0]))) FAIL("element " << i);
      }
    }
  }
}

}  // namespace mla_prolog::test
