// Every code of every format, against decoders by definition, and facts that a specification states about the sets.
#include <bit>
#include <cmath>
#include <set>

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

// Same value, same sign of zero; any NaN for NaN.
bool agrees(float actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  return double{actual} == expected && std::signbit(actual) == std::signbit(expected);
}

template <typename Code, typename Actual, typename Expected>
void check_all_codes(unsigned count, DType dtype, Actual actual, Expected expected) {
  for (unsigned i = 0; i < count; ++i) {
    const auto code = static_cast<Code>(i);
    float decoded = 0;
    const bool known = decode(dtype, &code, 1, &decoded);
    if (!known || !agrees(actual(code), expected(code)) || !agrees(decoded, expected(code))) {
      INFO("code " << i << " decodes to " << actual(code) << " and " << decoded << ", expected " << expected(code));
      FAIL();
    }
  }
}

}  // namespace

TEST_CASE("every bf16 pattern decodes to its value") {
  check_all_codes<std::uint16_t>(0x10000, DType::bf16, kernels::float_from_bf16, oracle_decode_bf16);
}

TEST_CASE("every binary16 pattern decodes to its value") {
  check_all_codes<std::uint16_t>(0x10000, DType::float16, kernels::float_from_fp16, oracle_decode_fp16);
}

TEST_CASE("every e4m3 code decodes to its value") {
  check_all_codes<std::uint8_t>(0x100, DType::float8_e4m3fn, kernels::float_from_e4m3, oracle_decode_e4m3);
  CHECK(kernels::float_from_e4m3(0x7E) == 448.0F);
  CHECK(kernels::float_from_e4m3(0x08) == 0x1p-6F);
  CHECK(kernels::float_from_e4m3(0x01) == 0x1p-9F);
  CHECK(std::signbit(kernels::float_from_e4m3(0x80)));
  CHECK(std::isnan(kernels::float_from_e4m3(0x7F)));
  CHECK(std::isnan(kernels::float_from_e4m3(0xFF)));
}

TEST_CASE("every e8m0 code decodes to its value") {
  check_all_codes<std::uint8_t>(0x100, DType::float8_e8m0, kernels::float_from_e8m0, oracle_decode_e8m0);
  CHECK(same(kernels::float_from_e8m0(0), 0x1p-127F));
  CHECK(kernels::float_from_e8m0(127) == 1.0F);
}

TEST_CASE("every hif8 code decodes to its value") {
  check_all_codes<std::uint8_t>(0x100, DType::hifloat8, kernels::float_from_hif8, oracle_decode_hif8);
  // Published check values.
  constexpr std::pair<int, float> kKnown[] = {{0x00, 0.0F},     {0x08, 1.0F},     {0x10, 2.0F},       {0x18, 0.5F},
                                              {0x20, 4.0F},     {0x30, 0.25F},    {0x40, 16.0F},      {0x50, 1 / 16.0F},
                                              {0x60, 256.0F},   {0x61, 384.0F},   {0x6D, 24576.0F},   {0x6E, 32768.0F},
                                              {0x70, 0x1p-8F},  {0x7E, 0x1p-15F}, {0x7F, 0x1.8p-15F}, {0x01, 0x1p-22F},
                                              {0x07, 0x1p-16F}, {0x6F, INFINITY}, {0xEF, -INFINITY}};
  for (const auto& [code, value] : kKnown) {
    CHECK(kernels::float_from_hif8(static_cast<std::uint8_t>(code)) == value);
  }
  CHECK(std::isnan(kernels::float_from_hif8(0x80)));
}

TEST_CASE("hif8 has 127 distinct finite non-negative values, symmetric in sign") {
  std::set<float> values;
  for (unsigned code = 0; code < 0x80; ++code) {
    const float value = kernels::float_from_hif8(static_cast<std::uint8_t>(code));
    if (std::isfinite(value)) values.insert(value);
    if (code != 0) CHECK(kernels::float_from_hif8(static_cast<std::uint8_t>(code | 0x80)) == -value);
  }
  CHECK(values.size() == 127);
}

TEST_CASE("int8 decodes to its value, float32 passes through with its bits") {
  for (int i = -128; i < 128; ++i) {
    const auto code = static_cast<std::int8_t>(i);
    float value = 0;
    REQUIRE(decode(DType::int8, &code, 1, &value));
    CHECK(value == static_cast<float>(i));
  }
  for (const float v : special_floats()) {
    float copy = 1;
    float back = 1;
    REQUIRE(decode(DType::float32, &v, 1, &copy));
    REQUIRE(encode(DType::float32, &v, 1, &back));
    CHECK((same(copy, v) && same(back, v)));
  }
}

TEST_CASE("dtypes without a codec are refused and nothing is written") {
  for (const DType dtype : {DType::undefined, DType::int32, DType::int64, DType::float64, DType::float8_e5m2,
                            DType::uint8, DType::string, DType::int4}) {
    const float value = 1;
    float out = -7;
    CHECK_FALSE(encode(dtype, &value, 1, &out));
    CHECK_FALSE(decode(dtype, &value, 1, &out));
    CHECK(out == -7);
  }
}

TEST_CASE("no elements, no pointers needed") {
  for (const DType dtype : {DType::float32, DType::bf16, DType::float16, DType::float8_e4m3fn, DType::hifloat8,
                            DType::float8_e8m0, DType::int8}) {
    CHECK(encode(dtype, nullptr, 0, nullptr));
    CHECK(decode(dtype, nullptr, 0, nullptr));
  }
}

}  // namespace mla_prolog::test
