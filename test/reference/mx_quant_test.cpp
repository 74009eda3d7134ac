// MX quantisation against its rule in double: the shared exponent is floor(log2 amax) - 8, values are scaled by that
// power of two, clamped to 448 and rounded to the nearest e4m3 value.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/reference/rows.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

struct Quantised {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  bool operator==(const Quantised&) const = default;
};

Quantised oracle_mx(const std::vector<float>& y) {
  Quantised out;
  for (std::size_t first = 0; first < y.size(); first += 32) {
    std::vector<double> block;
    double amax = 0;
    bool poisoned = false;
    for (std::size_t i = first; i < first + 32; ++i) {
      block.push_back(oracle_decode_bf16(oracle_bf16(y[i], Rounding::nearest_away)));
      poisoned = poisoned || !std::isfinite(block.back());
      amax = std::max(amax, std::fabs(block.back()));
    }
    if (poisoned) {
      out.scales.push_back(0xFF);
      out.codes.insert(out.codes.end(), 32, 0);
      continue;
    }
    // Only zeros and bf16 subnormals: the byte 0 and zeros of the elements' signs.
    const bool nothing_normal = amax < 0x1p-126;
    const int scale = nothing_normal ? 0 : std::max(std::ilogb(amax) + 127, 8) - 8;
    out.scales.push_back(static_cast<std::uint8_t>(scale));
    for (const double value : block) {
      const double scaled = nothing_normal ? std::copysign(0.0, value) : std::ldexp(value, 127 - scale);
      out.codes.push_back(oracle_e4m3(static_cast<float>(std::min(std::max(scaled, -448.0), 448.0))));
    }
  }
  return out;
}

Quantised actual_mx(const std::vector<float>& y) {
  Quantised out{std::vector<std::uint8_t>(y.size()), std::vector<std::uint8_t>(y.size() / 32)};
  kernels::reference_row_kernels().mx_quant(y.data(), static_cast<std::int64_t>(y.size()), out.codes.data(),
                                            out.scales.data());
  return out;
}

std::vector<float> block_of(float value) { return std::vector<float>(32, value); }

}  // namespace

TEST_CASE("mx_quant on random blocks of every magnitude") {
  Rng rng(seed());
  for (int exponent = -126; exponent <= 127; ++exponent) {
    std::vector<float> y(64);
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = i % 2 == 0 ? rng.float_of_exponent(std::max(exponent - 20, -126), exponent)
                        : rng.float_of_exponent(exponent, exponent);
    }
    if (actual_mx(y) != oracle_mx(y)) FAIL("exponent " << exponent);
  }
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::vector<float> y(32);
    for (auto& v : y) v = rng.chance(0.99) ? rng.float_of_exponent(-10, 10) : rng.any_float();
    if (actual_mx(y) != oracle_mx(y)) FAIL("repeat " << repeat);
  }
}

TEST_CASE("mx_quant: the shared exponent is the maximum's, rounded down, less 8") {
  CHECK(actual_mx(block_of(1.0F)).scales[0] == 127 - 8);
  CHECK(actual_mx(block_of(1.0F)).codes[0] == oracle_e4m3(256));
  CHECK(actual_mx(block_of(1.9921875F)).scales[0] == 127 - 8);
  CHECK(actual_mx(block_of(1.9921875F)).codes[0] == 0x7E);  // 510 is clamped to 448
  CHECK(actual_mx(block_of(-1.75F)).codes[0] == 0xFE);      // -448 exactly
  CHECK(actual_mx(block_of(0x1p-118F)).scales[0] == 1);
  CHECK(actual_mx(block_of(0x1p-119F)).scales[0] == 0);  // from here down the byte stays 0
  CHECK(actual_mx(block_of(0x1p-120F)).scales[0] == 0);
  CHECK(actual_mx(block_of(0x1p-120F)).codes[0] == oracle_e4m3(128));
  CHECK(actual_mx(block_of(0x1p127F)).scales[0] == 246);
}

TEST_CASE("mx_quant: values are rounded to bf16 with ties away first") {
  // 1 + 2^-8 is half way between the bf16 values 1 and 1 + 2^-7; from 1 + 2^-7 on, e4m3 has the tie 1 + 2^-4 only.
  // 2 - 2^-8 rounds away to 2, and the block's exponent with it.
  CHECK(actual_mx(block_of(2.0F - 0x1p-8F)).scales[0] == 128 - 8);
  CHECK(actual_mx(block_of(std::nextafter(2.0F - 0x1p-8F, 0.0F))).scales[0] == 127 - 8);
}

TEST_CASE("mx_quant: a block of zeros and subnormals has scale byte 0 and signed zeros") {
  auto y = block_of(0.0F);
  y[1] = -0.0F;
  y[2] = 0x1p-130F;
  y[3] = -0x1p-130F;
  const Quantised out = actual_mx(y);
  CHECK(out.scales[0] == 0);
  for (std::size_t i = 0; i < 32; ++i) CHECK(out.codes[i] == (i == 1 || i == 3 ? 0x80 : 0x00));
  // One normal value, and subnormals count again.
  y[0] = 0x1p-126F;
  CHECK(actual_mx(y).codes[3] == oracle_e4m3(-0x1p-3F));
  CHECK(actual_mx(y) == oracle_mx(y));
}

TEST_CASE("mx_quant: infinity or NaN poisons its block and no other") {
  Rng rng(seed());
  for (const float bad : {INFINITY, -INFINITY, NAN, 3.4e38F /* rounds to infinity in bf16 */}) {
    std::vector<float> y(96);
    for (auto& v : y) v = static_cast<float>(rng.real(-3, 3));
    const Quantised good = actual_mx(y);
    y[40] = bad;
    const Quantised poisoned = actual_mx(y);
    CHECK(poisoned.scales[1] == 0xFF);
    for (std::size_t i = 0; i < 96; ++i) CHECK(poisoned.codes[i] == (i / 32 == 1 ? 0 : good.codes[i]));
    CHECK(poisoned.scales[0] == good.scales[0]);
    CHECK(poisoned.scales[2] == good.scales[2]);
  }
}

TEST_CASE("mx_quant_bf16 equals mx_quant of the widened values") {
  Rng rng(seed());
  for (int repeat = 0; repeat < 1000; ++repeat) {
    std::vector<std::uint16_t> codes(32);
    std::vector<float> values(32);
    for (std::size_t i = 0; i < 32; ++i) {
      codes[i] = repeat % 2 == 0 ? static_cast<std::uint16_t>(rng.next()) : oracle_bf16(rng.float_of_exponent(-9, 9));
      values[i] = static_cast<float>(oracle_decode_bf16(codes[i]));
    }
    Quantised direct{std::vector<std::uint8_t>(32), std::vector<std::uint8_t>(1)};
    kernels::reference::mx_quant_bf16(codes.data(), 32, direct.codes.data(), direct.scales.data());
    if (direct != actual_mx(values)) FAIL("repeat " << repeat);
  }
}

}  // namespace mla_prolog::test
