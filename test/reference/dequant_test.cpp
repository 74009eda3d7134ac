// Dequantisation, RoPE's query factor and bf16 rows: the order of the roundings.
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/row_kernels.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

const kernels::RowKernels& rows() { return kernels::reference_row_kernels(); }

}  // namespace

TEST_CASE("dequant multiplies by the token's scale first (a2) or by the channel's (950)") {
  Rng rng(seed());
  const std::int64_t n = 4096;
  std::vector<std::int32_t> sums(n);
  std::vector<float> products(n);
  std::vector<float> channel(n);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    sums[j] = static_cast<std::int32_t>(rng.integer(-(1 << 27), 1 << 27));
    products[j] = rng.float_of_exponent(-60, 60);
    channel[j] = rng.float_of_exponent(-60, 60);
  }
  const float token = 0.0123456F;
  std::vector<float> from_int(n);
  std::vector<float> from_float(n);
  int order_matters = 0;
  for (const bool token_first : {true, false}) {
    rows().dequant_int32(sums.data(), n, token, channel.data(), token_first, from_int.data());
    rows().dequant_float32(products.data(), n, token, channel.data(), token_first, from_float.data());
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const auto both = [&](float m) {
        return token_first ? oracle_mul(oracle_mul(m, token), channel[j])
                           : oracle_mul(oracle_mul(m, channel[j]), token);
      };
      // int32 to float32 with one rounding: exact in double first.
      const auto sum = static_cast<float>(static_cast<double>(sums[j]));
      if (!same(from_int[j], both(sum)) || !same(from_float[j], both(products[j]))) {
        FAIL("element " << j << ", token first: " << token_first);
      }
      if (oracle_mul(oracle_mul(sum, token), channel[j]) != oracle_mul(oracle_mul(sum, channel[j]), token)) {
        ++order_matters;
      }
    }
  }
  CHECK(order_matters > 100);  // the data can tell the two orders apart
}

TEST_CASE("dequant rounds int32 values above 2^24 to nearest even") {
  const std::int32_t m[] = {(1 << 24) + 1, (1 << 24) + 3, -(1 << 24) - 1, (1 << 26) + 4, (1 << 26) + 12};
  const float expected[] = {0x1p24F, 0x1p24F + 4, -0x1p24F, 0x1p26F, 0x1p26F + 16};
  const float one[] = {1, 1, 1, 1, 1};
  float out[5];
  rows().dequant_int32(m, 5, 1.0F, one, true, out);
  for (int i = 0; i < 5; ++i) CHECK(out[i] == expected[i]);
}

TEST_CASE("dequant with extreme scales follows IEEE, in the order of the profile") {
  const float channel[] = {1e-30F, 1e30F, INFINITY, NAN, 0.0F};
  const float m[] = {1e30F, 1e30F, 1.0F, 1.0F, -1.0F};
  float out[5];
  rows().dequant_float32(m, 5, 1e30F, channel, true, out);
  CHECK(std::isinf(out[0]));  // 1e30 * 1e30 overflows before the small scale comes
  CHECK(std::isinf(out[1]));
  CHECK(std::isinf(out[2]));
  CHECK(std::isnan(out[3]));
  CHECK(same(out[4], -0.0F));
  rows().dequant_float32(m, 5, 1e30F, channel, false, out);
  CHECK(out[0] == oracle_mul(oracle_mul(1e30F, 1e-30F), 1e30F));
  std::vector<float> in_place(m, m + 5);
  rows().dequant_float32(in_place.data(), 5, 2.0F, channel, true, in_place.data());
  CHECK(in_place[0] == oracle_mul(2e30F, 1e-30F));
}

TEST_CASE("bf16 rows: widen, round, scale with one rounding each") {
  std::vector<std::uint16_t> codes(0x10000);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  const auto n = static_cast<std::int64_t>(codes.size());
  std::vector<float> values(codes.size());
  rows().widen_bf16(codes.data(), n, values.data());
  std::vector<std::uint16_t> back(codes.size());
  rows().round_to_bf16(values.data(), n, back.data());
  for (const float factor : {1.0F, 1.00390625F, -0.7F, 1e-30F, 1e30F, INFINITY, 0.0F, NAN}) {
    std::vector<std::uint16_t> scaled = codes;
    rows().scale_bf16(scaled.data(), n, factor);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double value = oracle_decode_bf16(codes[i]);
      const auto expected = oracle_bf16(oracle_mul(static_cast<float>(value), factor));
      if (scaled[i] != expected) FAIL("code " << i << " times " << factor);
    }
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double value = oracle_decode_bf16(codes[i]);
    if (std::isnan(value) ? !std::isnan(values[i]) || back[i] != 0x7FC0 : values[i] != value || back[i] != codes[i]) {
      FAIL("code " << i);
    }
  }
}

}  // namespace mla_prolog::test
