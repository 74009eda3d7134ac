// The int8 conversion chains against the chains spelled out conversion by conversion.
#include "kernels/formats/int8.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"

namespace mla_prolog::test {
namespace {

// Chain B as its closed formula: the binary16 step u, then two roundings half up of the magnitude.
std::int8_t chain_b_formula(float v) {
  if (std::isnan(v)) return 0;
  const double a = std::fabs(double{v});
  int exponent = -14;
  while (a >= std::ldexp(1.0, exponent + 1) && exponent < 16) ++exponent;
  const double u = std::ldexp(1.0, exponent - 10);
  const double b = u * std::floor(a / u + 0.5);
  const double code = std::copysign(std::floor(b + 0.5), double{v});
  return static_cast<std::int8_t>(code > 127 ? 127 : (code < -128 ? -128 : code));
}

void check_all_chains(float v) {
  std::int8_t encoded = 0;
  const bool known = encode(DType::int8, &v, 1, &encoded);
  const std::int8_t a = kernels::int8_from_float(v);
  const std::int8_t b = kernels::int8_from_float_via_fp16(v);
  if (known && a == oracle_int8_chain_a(v) && a == oracle_int8_chain_c(v) && encoded == a &&
      b == oracle_int8_chain_b(v) && b == chain_b_formula(v)) {
    return;
  }
  INFO("float32 " << std::hexfloat << v << ": I8a " << +a << ", expected " << +oracle_int8_chain_a(v) << " and "
                  << +oracle_int8_chain_c(v) << "; I8b " << +b << ", expected " << +oracle_int8_chain_b(v) << " and "
                  << +chain_b_formula(v));
  FAIL();
}

void check_around(float v) {
  for (const float near : {std::nextafter(v, -INFINITY), v, std::nextafter(v, INFINITY)}) {
    check_all_chains(near);
    check_all_chains(-near);
  }
}

}  // namespace

TEST_CASE("int8 chains at every integer and every half between") {
  for (int i = 0; i <= 300; ++i) {
    check_around(static_cast<float>(i));
    check_around(static_cast<float>(i) + 0.5F);
  }
}

TEST_CASE("int8 chains at every binary16 value up to 260 and every midpoint between") {
  const auto& entries = fp16_table().entries;
  for (std::size_t i = 0; i + 1 < entries.size() && entries[i].value <= 260; ++i) {
    check_around(static_cast<float>(entries[i].value));
    check_around(static_cast<float>((entries[i].value + entries[i + 1].value) / 2));
  }
}

TEST_CASE("int8 chains on a fine sweep of [-130, 130] and on special values") {
  constexpr std::uint32_t kStep = 1009;
  for (std::uint32_t bits = 0; bits <= bits_of(130.0F); bits += kStep) {
    check_all_chains(std::bit_cast<float>(bits));
    check_all_chains(-std::bit_cast<float>(bits));
  }
  for (const float v : special_floats()) check_all_chains(v);
}

TEST_CASE("int8 chains saturate at the ends of the range") {
  CHECK(kernels::int8_from_float(127.5F) == 127);
  CHECK(kernels::int8_from_float(-128.5F) == -128);
  CHECK(kernels::int8_from_float(-127.5F) == -128);
  CHECK(kernels::int8_from_float(3e38F) == 127);
  CHECK(kernels::int8_from_float(-INFINITY) == -128);
  CHECK(kernels::int8_from_float(NAN) == 0);
  CHECK(kernels::int8_from_float_via_fp16(INFINITY) == 127);
  CHECK(kernels::int8_from_float_via_fp16(-3e38F) == -128);
  CHECK(kernels::int8_from_float_via_fp16(-NAN) == 0);
}

TEST_CASE("the double rounding of chain B goes up within 1/32 below a half") {
  // From 64 on a binary16 step is 1/16, so everything from half - 1/32 rounds to the half, and the half rounds up.
  CHECK(kernels::int8_from_float_via_fp16(64.5F - 1 / 32.0F) == 65);
  CHECK(kernels::int8_from_float_via_fp16(std::nextafter(64.5F - 1 / 32.0F, 0.0F)) == 64);
  CHECK(kernels::int8_from_float(64.5F - 1 / 32.0F) == 64);
  CHECK(kernels::int8_from_float_via_fp16(0.5F) == 1);
  CHECK(kernels::int8_from_float(0.5F) == 0);
  CHECK(kernels::int8_from_float_via_fp16(-2.5F) == -3);
  CHECK(kernels::int8_from_float(-2.5F) == -2);
}

}  // namespace mla_prolog::test
