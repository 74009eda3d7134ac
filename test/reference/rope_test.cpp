// RoPE on cases whose result is known by hand, and against its formula with each rounding apart.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/row_kernels.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

using Codes = std::array<std::uint16_t, 64>;

Codes all(float value) {
  Codes codes;
  codes.fill(oracle_bf16(value));
  return codes;
}

std::array<double, 64> rotated(const std::array<float, 64>& x, const Codes& sin, const Codes& cos) {
  Codes out{};
  kernels::reference_row_kernels().rope(x.data(), sin.data(), cos.data(), out.data());
  std::array<double, 64> values{};
  std::transform(out.begin(), out.end(), values.begin(), oracle_decode_bf16);
  return values;
}

std::array<float, 64> counting() {
  std::array<float, 64> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  return x;
}

}  // namespace

TEST_CASE("rope by angle 0 parts pairs into halves") {
  const auto out = rotated(counting(), all(0), all(1));
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(out[i] == static_cast<double>(2 * i + 1));       // even positions first
    CHECK(out[i + 32] == static_cast<double>(2 * i + 2));  // then odd ones
  }
}

TEST_CASE("rope by a quarter turn swaps the halves and negates the first") {
  const auto out = rotated(counting(), all(1), all(0));
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(out[i] == -static_cast<double>(2 * i + 2));
    CHECK(out[i + 32] == static_cast<double>(2 * i + 1));
  }
}

TEST_CASE("rope uses all 64 entries of both tables independently") {
  for (std::size_t changed = 0; changed < 64; ++changed) {
    for (const bool in_sin : {true, false}) {
      Codes sin = all(0.5F);
      Codes cos = all(0.25F);
      const auto before = rotated(counting(), sin, cos);
      (in_sin ? sin : cos)[changed] = oracle_bf16(4.0F);
      const auto after = rotated(counting(), sin, cos);
      for (std::size_t i = 0; i < 64; ++i) CHECK((before[i] != after[i]) == (i == changed));
    }
  }
}

TEST_CASE("rope rounds two products and one sum, then to bf16") {
  Rng rng(seed());
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::array<float, 64> x{};
    Codes sin{};
    Codes cos{};
    const bool wild = repeat % 10 == 9;
    for (std::size_t i = 0; i < 64; ++i) {
      x[i] = wild ? rng.any_float() : rng.float_of_exponent(-8, 8);
      sin[i] = wild ? static_cast<std::uint16_t>(rng.next()) : oracle_bf16(static_cast<float>(rng.real(-1, 1)));
      cos[i] = wild ? static_cast<std::uint16_t>(rng.next()) : oracle_bf16(static_cast<float>(rng.real(-1, 1)));
    }
    Codes out{};
    kernels::reference_row_kernels().rope(x.data(), sin.data(), cos.data(), out.data());
    const auto value = [](std::uint16_t code) { return static_cast<float>(oracle_decode_bf16(code)); };
    for (std::size_t i = 0; i < 32; ++i) {
      const float even = x[2 * i];
      const float odd = x[2 * i + 1];
      const float first = oracle_add(oracle_mul(value(cos[i]), even), oracle_mul(-value(sin[i]), odd));
      const float second = oracle_add(oracle_mul(value(cos[i + 32]), odd), oracle_mul(value(sin[i + 32]), even));
      if (out[i] != oracle_bf16(first) || out[i + 32] != oracle_bf16(second)) {
        FAIL("repeat " << repeat << " pair " << i);
      }
    }
  }
}

}  // namespace mla_prolog::test
