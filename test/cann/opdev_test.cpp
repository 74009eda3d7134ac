// The number types that the tree offers to programs give the codes that the operators read.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "aclnn/opdev/bfloat16.h"
#include "aclnn/opdev/float8_e4m3fn.h"
#include "aclnn/opdev/float8_e8m0.h"
#include "kernels/formats/bf16.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/e8m0.hpp"
#include "test/catch.hpp"

namespace {

namespace kernels = mla_prolog::kernels;

static_assert(sizeof(op::bfloat16) == 2 && sizeof(op::Float8E4M3FN) == 1 && sizeof(op::Float8E8M0) == 1);
static_assert(std::is_trivially_copyable_v<op::bfloat16> && std::is_trivially_copyable_v<op::Float8E4M3FN> &&
              std::is_trivially_copyable_v<op::Float8E8M0>);
static_assert(op::bfloat16().value == 0 && op::Float8E4M3FN().value == 0 && op::Float8E8M0().value == 0);

bool same(float a, float b) { return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b)); }

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Of every magnitude and sign, and the values halfway between codes with their neighbours.
std::vector<float> numbers() {
  std::vector<float> list{0.0F, -0.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  std::mt19937 random(static_cast<std::mt19937::result_type>(mla_prolog::test::seed()));
  for (int i = 0; i < 100000; ++i) {
    const float value = float_of(static_cast<std::uint32_t>(random()));
    if (value == value) list.push_back(value);
  }
  const auto around = [&](float value) {
    for (const float v : {value, std::nextafter(value, 0.0F), std::nextafter(value, 1e38F)}) {
      list.insert(list.end(), {v, -v});
    }
  };
  for (int code = 0; code < 0x7E; ++code) {
    const float low = kernels::float_from_e4m3(static_cast<std::uint8_t>(code));
    const float high = kernels::float_from_e4m3(static_cast<std::uint8_t>(code + 1));
    around(low);
    around((low + high) / 2);
  }
  for (int exponent = -126; exponent < 127; ++exponent) around(std::ldexp(1.5F, exponent));
  return list;
}

}  // namespace

TEST_CASE("numbers become the codes that the operators' own conversions give", "[opdev]") {
  for (const float value : numbers()) {
    INFO(value);
    REQUIRE(op::bfloat16(value).value == kernels::bf16_from_float(value));
    REQUIRE(op::Float8E4M3FN(value).value == kernels::e4m3_from_float(value));
    if (value > 0) REQUIRE(op::Float8E8M0(value).value == kernels::e8m0_from_float(value));
  }
}

TEST_CASE("codes become numbers", "[opdev]") {
  for (unsigned code = 0; code < 256; ++code) {
    INFO(code);
    const auto bits = static_cast<std::uint8_t>(code);
    const op::Float8E4M3FN e4m3(bits, op::Float8E4M3FN::FromBits());
    const op::Float8E8M0 e8m0(bits, op::Float8E8M0::FromBits());
    CHECK(same(e4m3, kernels::float_from_e4m3(bits)));
    CHECK(e4m3.IsNaN() == std::isnan(static_cast<float>(e4m3)));
    CHECK(e4m3.IsZero() == (static_cast<float>(e4m3) == 0));
    if (code > 0) {
      CHECK(same(e8m0, kernels::float_from_e8m0(bits)));
      if (code < 255) CHECK(e8m0.GetExponent() == static_cast<int>(code) - 127);
    }
  }
  for (unsigned code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    REQUIRE(same(op::bfloat16(bits, op::bfloat16::from_bits()), kernels::float_from_bf16(bits)));
  }
}

TEST_CASE("what a format cannot hold", "[opdev]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(op::bfloat16(nan).value == 0x7FC0);
  CHECK(op::Float8E4M3FN(nan).IsNaN());
  CHECK(op::Float8E4M3FN(1e9F).value == 0x7E);
  CHECK(op::Float8E4M3FN(-1e9F).value == 0xFE);
  CHECK_FALSE(op::Float8E4M3FN(std::numeric_limits<float>::infinity()).IsInf());
  CHECK(op::Float8E8M0(nan).IsNaN());
  CHECK(op::Float8E8M0(-1.0F).IsNaN());
  CHECK(op::Float8E8M0(0.0F).IsZero());
  CHECK(static_cast<float>(op::Float8E8M0(0.0F)) == 0);
  CHECK_FALSE(op::Float8E8M0(std::numeric_limits<float>::infinity()).IsInf());
}
