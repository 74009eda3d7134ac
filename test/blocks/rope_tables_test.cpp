// Rotary tables against frequencies computed in double, plain and YaRN, and what must hold for any of them.
#include <cmath>
#include <numbers>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/oracle_formats.hpp"

namespace mla_prolog::test {
namespace {

struct Tables {
  GuardedTensor sin;
  GuardedTensor cos;

  double sin_at(std::size_t t, std::size_t i) const { return oracle_decode_bf16(sin.as<std::uint16_t>()[t * 64 + i]); }
  double cos_at(std::size_t t, std::size_t i) const { return oracle_decode_bf16(cos.as<std::uint16_t>()[t * 64 + i]); }
};

Tables make_tables(const RopeTableConfig& config, const std::vector<std::int64_t>& positions) {
  const auto rows = static_cast<std::int64_t>(positions.size());
  Tables tables{GuardedTensor(TensorDesc::dense(DType::bf16, {rows, 64})),
                GuardedTensor(TensorDesc::dense(DType::bf16, {rows, 64}))};
  REQUIRE(make_rope_tables(config, positions, tables.sin.view(), tables.cos.view()).ok());
  CHECK((tables.sin.intact() && tables.cos.intact()));
  return tables;
}

// YaRN in double: frequency i turns original_max * f / 2pi times over the original context. At least beta_fast turns:
// kept; at most beta_slow: divided by the factor; a linear ramp between the (whole) frequencies at which that happens.
double frequency(const RopeTableConfig& config, std::size_t i) {
  const double plain = std::pow(config.theta, -2.0 * static_cast<double>(i) / 64);
  if (!config.yarn) return plain;
  const auto crossing = [&](double turns) {  // the real i at which a frequency makes so many turns
    return 32 * std::log(config.original_max_position_embeddings / (turns * 2 * std::numbers::pi)) /
           std::log(config.theta);
  };
  const double low = std::max(std::floor(crossing(config.beta_fast)), 0.0);
  double high = std::min(std::ceil(crossing(config.beta_slow)), 63.0);
  if (low == high) high += 0.001;
  const double slow = std::min(std::max((static_cast<double>(i) - low) / (high - low), 0.0), 1.0);
  return slow * plain / config.factor + (1 - slow) * plain;
}

double attention_factor(const RopeTableConfig& config) {
  if (!config.yarn) return 1;
  const auto mscale = [&](double m) { return config.factor <= 1 ? 1.0 : 0.1 * m * std::log(config.factor) + 1; };
  return mscale(config.mscale) / mscale(config.mscale_all_dim);
}

RopeTableConfig yarn(double factor, double original, double theta = 10000) {
  RopeTableConfig config;
  config.theta = theta;
  config.yarn = true;
  config.factor = factor;
  config.original_max_position_embeddings = original;
  return config;
}

std::vector<RopeTableConfig> configs() {
  std::vector<RopeTableConfig> all(2);
  all[1].theta = 10000000;
  all.push_back(yarn(40, 4096));
  all.back().mscale_all_dim = 1.0;  // DeepSeek-V3: the factors cancel
  all.push_back(yarn(40, 4096));
  all.back().mscale = 0.707;
  all.back().mscale_all_dim = 0.3;
  all.push_back(yarn(64, 4096, 50000));
  all.push_back(yarn(4, 32768, 1e6));
  all.push_back(yarn(1, 4096));
  all.push_back(yarn(8, 4096));
  all.back().beta_fast = all.back().beta_slow = 2;
  return all;
}

const std::vector<std::int64_t> kPositions{0, 1, 2, 7, 100, 4095, 4096, 131071};

}  // namespace

TEST_CASE("rope tables follow the frequencies, to bf16 and the float32 angle's rounding") {
  for (const RopeTableConfig& config : configs()) {
    const Tables tables = make_tables(config, kPositions);
    const double factor = attention_factor(config);
    for (std::size_t t = 0; t < kPositions.size(); ++t) {
      for (std::size_t i = 0; i < 64; ++i) {
        const double angle = static_cast<double>(kPositions[t]) * frequency(config, i % 32);
        // A few float32 roundings of the frequency and the angle; then half a bf16 step of the result.
        const double rounding = factor * (std::fabs(angle) * 6 * 0x1p-24 + 1e-6);
        const auto near = [&](double actual, double expected) {
          return std::fabs(actual - expected) <= rounding + (std::fabs(expected) + rounding) * 0x1p-8;
        };
        INFO("theta " << config.theta << " yarn " << config.yarn << " factor " << config.factor << " position "
                      << kPositions[t] << " entry " << i);
        if (!near(tables.sin_at(t, i), factor * std::sin(angle))) FAIL("sin " << tables.sin_at(t, i));
        if (!near(tables.cos_at(t, i), factor * std::cos(angle))) FAIL("cos " << tables.cos_at(t, i));
      }
    }
  }
}

TEST_CASE("rope tables repeat their first half, and position 0 turns nothing") {
  for (const RopeTableConfig& config : configs()) {
    const Tables tables = make_tables(config, kPositions);
    for (std::size_t t = 0; t < kPositions.size(); ++t) {
      for (std::size_t i = 0; i < 32; ++i) {
        CHECK(tables.sin_at(t, i) == tables.sin_at(t, i + 32));
        CHECK(tables.cos_at(t, i) == tables.cos_at(t, i + 32));
      }
    }
    const double factor = oracle_decode_bf16(oracle_bf16(static_cast<float>(attention_factor(config))));
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(tables.sin_at(0, i) == 0);
      CHECK(tables.cos_at(0, i) == factor);
    }
  }
}

TEST_CASE("a row depends on its position alone, and negative positions turn back") {
  for (const RopeTableConfig& config : configs()) {
    const Tables together = make_tables(config, {5, -5, 77, 5});
    const Tables alone = make_tables(config, {77});
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(together.sin_at(2, i) == alone.sin_at(0, i));
      CHECK(together.cos_at(2, i) == alone.cos_at(0, i));
      CHECK(together.sin_at(0, i) == together.sin_at(3, i));
      CHECK(together.sin_at(1, i) == -together.sin_at(0, i));
      CHECK(together.cos_at(1, i) == together.cos_at(0, i));
    }
  }
}

TEST_CASE("YaRN with factor 1 changes nothing") {
  const Tables plain = make_tables({}, kPositions);
  const Tables scaled = make_tables(yarn(1, 4096), kPositions);
  CHECK((plain.sin.snapshot() == scaled.sin.snapshot()));
  CHECK((plain.cos.snapshot() == scaled.cos.snapshot()));
}

}  // namespace mla_prolog::test
