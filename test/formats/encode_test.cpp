// Every encoder at every rounding boundary of its format and on a sweep over all of float32, against the nearest-entry
// search over the decoded table.
#include <bit>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/e8m0.hpp"
#include "kernels/formats/fp16.hpp"
#include "kernels/formats/hif8.hpp"
#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"

namespace mla_prolog::test {
namespace {

// A prime, so that all low bits occur; about 800,000 values.
constexpr std::uint32_t kSweepStep = 5381;

template <typename Actual, typename Expected>
void check_value(float v, Actual actual, Expected expected) {
  if (actual(v) == expected(v)) return;
  INFO("float32 " << std::hexfloat << v << " (bits " << std::hex << bits_of(v) << ") encodes to " << +actual(v)
                  << ", expected " << +expected(v));
  FAIL();
}

template <typename Actual, typename Expected>
void check_boundaries_and_sweep(const CodeTable& table, Actual actual, Expected expected) {
  for (const float v : boundary_values(table)) check_value(v, actual, expected);
  std::uint32_t bits = 0;
  do {
    check_value(std::bit_cast<float>(bits), actual, expected);
    bits += kSweepStep;
  } while (bits >= kSweepStep);
}

// The public encoder of one value.
template <typename Code>
auto public_encoder(DType dtype) {
  return [dtype](float v) {
    Code code = 0;
    const bool known = encode(dtype, &v, 1, &code);
    return known ? code : static_cast<Code>(~Code{0});
  };
}

}  // namespace

TEST_CASE("bf16, ties to even") {
  const auto expected = [](float v) { return oracle_bf16(v); };
  check_boundaries_and_sweep(bf16_table(), kernels::bf16_from_float, expected);
  check_boundaries_and_sweep(bf16_table(), public_encoder<std::uint16_t>(DType::bf16), expected);
}

TEST_CASE("bf16, ties away from zero") {
  check_boundaries_and_sweep(bf16_table(), kernels::bf16_from_float_ties_away,
                             [](float v) { return oracle_bf16(v, Rounding::nearest_away); });
}

TEST_CASE("binary16, ties to even") {
  const auto expected = [](float v) { return oracle_fp16(v); };
  check_boundaries_and_sweep(fp16_table(), kernels::fp16_from_float, expected);
  check_boundaries_and_sweep(fp16_table(), public_encoder<std::uint16_t>(DType::float16), expected);
}

TEST_CASE("e4m3, ties to even, saturating") {
  check_boundaries_and_sweep(e4m3_table(), kernels::e4m3_from_float, oracle_e4m3);
  check_boundaries_and_sweep(e4m3_table(), public_encoder<std::uint8_t>(DType::float8_e4m3fn), oracle_e4m3);
  CHECK(kernels::e4m3_from_float(449.0F) == 0x7E);
  CHECK(kernels::e4m3_from_float(-INFINITY) == 0xFE);
  CHECK(kernels::e4m3_from_float(-0.0F) == 0x80);
  CHECK(kernels::e4m3_from_float(0x1p-10F) == 0x00);  // a tie between 0 and the smallest value
  CHECK(kernels::e4m3_from_float(NAN) == 0x00);
}

TEST_CASE("hif8, ties away from zero, saturating") {
  check_boundaries_and_sweep(hif8_table(), kernels::hif8_from_float, oracle_hif8);
  check_boundaries_and_sweep(hif8_table(), public_encoder<std::uint8_t>(DType::hifloat8), oracle_hif8);
  CHECK(kernels::hif8_from_float(0x1p-23F) == 0x01);          // always up to the smallest value
  CHECK(kernels::hif8_from_float(-0x1.fffffep-24F) == 0x00);  // below: +0, the sign is dropped
  CHECK(kernels::hif8_from_float(-0.0F) == 0x00);
  CHECK(kernels::hif8_from_float(40959.0F) == 0x6E);
  CHECK(kernels::hif8_from_float(40960.0F) == 0x6E);  // would be infinity without saturation
  CHECK(kernels::hif8_from_float(-INFINITY) == 0xEE);
  CHECK(kernels::hif8_from_float(NAN) == 0x00);
}

TEST_CASE("e8m0, the nearest power of two") {
  check_boundaries_and_sweep(e8m0_table(), kernels::e8m0_from_float, oracle_e8m0);
  check_boundaries_and_sweep(e8m0_table(), public_encoder<std::uint8_t>(DType::float8_e8m0), oracle_e8m0);
  CHECK(kernels::e8m0_from_float(INFINITY) == 0xFE);
  CHECK(kernels::e8m0_from_float(0.0F) == 0xFF);
  CHECK(kernels::e8m0_from_float(0x1p-149F) == 0x00);
}

TEST_CASE("every code survives decoding and encoding") {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const auto c = static_cast<std::uint16_t>(code);
    const bool bf16_nan = std::isnan(oracle_decode_bf16(c));
    const bool fp16_nan = std::isnan(oracle_decode_fp16(c));
    if (kernels::bf16_from_float(kernels::float_from_bf16(c)) != (bf16_nan ? 0x7FC0 : c) ||
        kernels::bf16_from_float_ties_away(kernels::float_from_bf16(c)) != (bf16_nan ? 0x7FC0 : c) ||
        kernels::fp16_from_float(kernels::float_from_fp16(c)) != (fp16_nan ? 0x7E00 : c)) {
      FAIL("16-bit code " << code);
    }
  }
  for (unsigned code = 0; code < 0x100; ++code) {
    const auto c = static_cast<std::uint8_t>(code);
    const float e4m3 = kernels::float_from_e4m3(c);
    CHECK(kernels::e4m3_from_float(e4m3) == (std::isnan(e4m3) ? 0 : c));
    const float hif8 = kernels::float_from_hif8(c);
    const bool infinite = std::isinf(hif8);  // encoders saturate
    CHECK(kernels::hif8_from_float(hif8) == (std::isnan(hif8) ? 0 : (infinite ? c - 1 : c)));
    CHECK(kernels::e8m0_from_float(kernels::float_from_e8m0(c)) == c);
  }
}

TEST_CASE("a stored float32 NaN is the quiet NaN, everything else keeps its bits") {
  for (const float v : special_floats()) {
    CHECK(bits_of(kernels::canonical(v)) == (std::isnan(v) ? 0x7FC00000U : bits_of(v)));
  }
}

}  // namespace mla_prolog::test
