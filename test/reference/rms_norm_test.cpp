// RmsNorm against its definition step by step, and on rows made so that only the stated order gives the result.
#include <cmath>
#include <vector>

#include "kernels/row_kernels.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

// The sum of lanes [first, first + count) by halves: what a tree over adjacent pairs gives.
float tree(const std::vector<float>& lanes, std::size_t first, std::size_t count) {
  if (count == 1) return lanes[first];
  return oracle_add(tree(lanes, first, count / 2), tree(lanes, first + count / 2, count / 2));
}

std::vector<float> oracle_rms_norm(const std::vector<float>& v, float epsilon, const std::vector<std::uint16_t>& gamma,
                                   float scale, bool apply_scale) {
  std::vector<float> lanes(64, 0.0F);
  for (std::size_t block = 0; block < v.size(); block += 64) {
    for (std::size_t l = 0; l < 64; ++l) {
      lanes[l] = oracle_add(lanes[l], oracle_mul(v[block + l], v[block + l]));
    }
  }
  const float mean = oracle_mul(tree(lanes, 0, 64), oracle_div(1.0F, static_cast<float>(v.size())));
  const float root = oracle_sqrt(oracle_add(mean, epsilon));
  std::vector<float> y;
  for (std::size_t i = 0; i < v.size(); ++i) {
    float value = v[i] / root;  // as it is: a subnormal quotient must not be rounded twice
    value = oracle_mul(value, static_cast<float>(oracle_decode_bf16(gamma[i])));
    y.push_back(apply_scale ? oracle_mul(value, scale) : value);
  }
  return y;
}

std::vector<float> actual_rms_norm(const std::vector<float>& v, float epsilon, const std::vector<std::uint16_t>& gamma,
                                   float scale, bool apply_scale) {
  std::vector<float> y(v.size());
  const auto n = static_cast<std::int64_t>(v.size());
  kernels::reference_row_kernels().rms_norm(v.data(), n, 1.0F / static_cast<float>(n), epsilon, gamma.data(), scale,
                                            apply_scale, y.data());
  std::vector<float> in_place = v;
  kernels::reference_row_kernels().rms_norm(in_place.data(), n, 1.0F / static_cast<float>(n), epsilon, gamma.data(),
                                            scale, apply_scale, in_place.data());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!same(y[i], in_place[i]) && !std::isnan(y[i])) FAIL("in place differs at " << i);
  }
  return y;
}

void check_row(const std::vector<float>& v, float epsilon, const std::vector<std::uint16_t>& gamma, float scale,
               bool apply_scale) {
  const auto expected = oracle_rms_norm(v, epsilon, gamma, scale, apply_scale);
  const auto actual = actual_rms_norm(v, epsilon, gamma, scale, apply_scale);
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(expected[i]) ? !std::isnan(actual[i]) : !same(actual[i], expected[i])) {
      FAIL("n " << v.size() << " element " << i << ": " << actual[i] << " != " << expected[i]);
    }
  }
}

std::vector<std::uint16_t> ones(std::size_t n) { return std::vector<std::uint16_t>(n, oracle_bf16(1.0F)); }

}  // namespace

TEST_CASE("rms_norm on random rows") {
  Rng rng(seed());
  for (const std::size_t n : {64U, 128U, 192U, 512U, 1536U, 2048U}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<float> v(n);
      std::vector<std::uint16_t> gamma(n);
      const int spread = repeat % 2 == 0 ? 2 : 12;
      for (auto& value : v) value = rng.float_of_exponent(-spread, spread);
      for (auto& g : gamma) g = oracle_bf16(static_cast<float>(rng.real(-2, 2)));
      check_row(v, 1e-5F, gamma, 1.0F, false);
      check_row(v, 1e-6F, gamma, static_cast<float>(rng.real(0.1, 20)), true);
    }
  }
}

TEST_CASE("rms_norm at the ends of the exponent range") {
  Rng rng(seed());
  for (const int exponent : {-126, -80, -63, -40, 40, 62, 63, 100, 127}) {
    std::vector<float> v(128);
    for (auto& value : v) value = rng.float_of_exponent(exponent, exponent);
    check_row(v, 1e-5F, ones(128), 1.0F, false);
    check_row(v, 0.0F, ones(128), 3.0F, true);
  }
}

TEST_CASE("rms_norm: zero rows, NaN and infinity follow IEEE") {
  std::vector<float> zeros(64, 0.0F);
  for (const float y : actual_rms_norm(zeros, 1e-5F, ones(64), 1.0F, false)) CHECK(y == 0.0F);
  for (const float y : actual_rms_norm(zeros, 0.0F, ones(64), 1.0F, false)) CHECK(std::isnan(y));

  std::vector<float> v(128, 1.0F);
  v[70] = INFINITY;
  const auto with_infinity = actual_rms_norm(v, 1e-5F, ones(128), 1.0F, false);
  for (std::size_t i = 0; i < v.size(); ++i) CHECK((i == 70 ? std::isnan(with_infinity[i]) : with_infinity[i] == 0));
  v[70] = NAN;
  for (const float y : actual_rms_norm(v, 1e-5F, ones(128), 1.0F, false)) CHECK(std::isnan(y));
}

TEST_CASE("rms_norm sums 64 lanes in ascending order, then a tree over neighbours") {
  // y[0] = 4096 / sqrt(sum / n) for a row that begins with 4096, whose square, 2^24, swallows single ones.
  const auto first_element = [](const std::vector<float>& v) {
    return actual_rms_norm(v, 0.0F, ones(v.size()), 1.0F, false)[0];
  };
  const auto expected = [](float sum, float n) { return oracle_div(4096, oracle_sqrt(oracle_div(sum, n))); };

  // Ones in all other lanes: lane 1 meets lane 0 first and is lost, the others meet each other first and count.
  std::vector<float> across(64, 1.0F);
  across[0] = 4096;
  CHECK(first_element(across) == expected(0x1p24F + 62, 64));
  CHECK(first_element(across) != expected(0x1p24F, 64));

  // Ones in lane 0 of the later blocks: each is added to the lane by itself and lost.
  std::vector<float> within(64 * 64, 0.0F);
  for (std::size_t i = 0; i < within.size(); i += 64) within[i] = 1;
  within[0] = 4096;
  CHECK(first_element(within) == expected(0x1p24F, 64 * 64));
  CHECK(first_element(within) != expected(0x1p24F + 63, 64 * 64));

  // The same in reverse: the ones come first, and count.
  std::vector<float> reversed(within.rbegin(), within.rend());
  CHECK(oracle_rms_norm(reversed, 0.0F, ones(reversed.size()), 1.0F, false).back() == expected(0x1p24F + 64, 64 * 64));
  check_row(reversed, 0.0F, ones(reversed.size()), 1.0F, false);
}

TEST_CASE("rms_norm multiplies gamma before the scale and divides truly") {
  // 1 / sqrt(1 + eps) is not what v * rsqrt gives for these; the oracle divides.
  Rng rng(seed());
  std::vector<float> v(64);
  std::vector<std::uint16_t> gamma(64);
  for (int repeat = 0; repeat < 200; ++repeat) {
    for (auto& value : v) value = static_cast<float>(rng.real(0.5, 2));
    for (auto& g : gamma) g = oracle_bf16(static_cast<float>(rng.real(0.9, 1.1)));
    check_row(v, static_cast<float>(rng.real(0, 1)), gamma, static_cast<float>(rng.real(0.9, 1.1)), true);
  }
}

}  // namespace mla_prolog::test
