// Per-tile cache quantisation: the int8 flavour with its clip factor, the 8-bit-float flavour with its floor.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/row_kernels.hpp"
#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

using kernels::QuantKind;

struct Tile {
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(128);
  float scale = 0;
};

float largest_magnitude(const std::vector<float>& c) {
  float amax = 0;
  for (const float v : c) {
    if (std::isnan(v)) return NAN;
    amax = std::max(amax, std::fabs(v));
  }
  return amax;
}

// max and min that pass NaN on.
float smaller(float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }
float larger(float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }

Tile oracle_tile(QuantKind kind, const std::vector<float>& c, float alpha) {
  Tile tile;
  const float amax = largest_magnitude(c);
  if (kind == QuantKind::e4m3 || kind == QuantKind::hif8) {
    const float floored = larger(amax, std::bit_cast<float>(0x38D1B717U));
    tile.scale = oracle_mul(floored, kind == QuantKind::e4m3 ? std::bit_cast<float>(0x3B124925U) : 0x1p-15F);
    for (std::size_t i = 0; i < c.size(); ++i) {
      tile.codes[i] = kind == QuantKind::e4m3 ? oracle_e4m3(c[i] / tile.scale) : oracle_hif8(c[i] / tile.scale);
    }
    return tile;
  }
  const float high = oracle_mul(amax, alpha);
  const float low = oracle_mul(amax, -alpha);
  tile.scale = oracle_mul(high, std::bit_cast<float>(0x3C010204U));
  const float reciprocal = 1.0F / tile.scale;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const float clipped = larger(smaller(c[i], high), low);
    tile.codes[i] = std::bit_cast<std::uint8_t>(oracle_int8_chain_a(oracle_mul(clipped, reciprocal)));
  }
  return tile;
}

Tile actual_tile(QuantKind kind, const std::vector<float>& c, float alpha) {
  Tile tile;
  kernels::reference_row_kernels().tile_quant(kind, c.data(), alpha, tile.codes.data(), &tile.scale);
  return tile;
}

void check_tile(QuantKind kind, const std::vector<float>& c, float alpha) {
  const Tile actual = actual_tile(kind, c, alpha);
  const Tile expected = oracle_tile(kind, c, alpha);
  INFO("kind " << static_cast<int>(kind) << ", alpha " << alpha << ", c[0] " << c[0]);
  CHECK(bits_of(actual.scale) == (std::isnan(expected.scale) ? 0x7FC00000U : bits_of(expected.scale)));
  CHECK(actual.codes == expected.codes);
}

std::vector<float> random_tile(Rng& rng, int low, int high) {
  std::vector<float> c(128);
  for (auto& v : c) v = rng.float_of_exponent(low, high);
  return c;
}

constexpr QuantKind kKinds[] = {QuantKind::int8_a2, QuantKind::int8_950, QuantKind::e4m3, QuantKind::hif8};
constexpr float kAlphas[] = {1.0F, 0.9F, 0.3F, 1.5F, 100.0F, 0.0F, -0.0F, -1.0F, -0.5F, NAN, INFINITY};

}  // namespace

TEST_CASE("tile_quant on random tiles, with every kind of alpha") {
  Rng rng(seed());
  for (const QuantKind kind : kKinds) {
    for (const float alpha : kAlphas) {
      for (int repeat = 0; repeat < 20; ++repeat) check_tile(kind, random_tile(rng, -5, 5), alpha);
      check_tile(kind, random_tile(rng, -126, 127), alpha);
      check_tile(kind, random_tile(rng, -126, -120), alpha);
    }
  }
}

TEST_CASE("tile_quant: alpha clips before scaling, for int8 only") {
  std::vector<float> c(128, 0.25F);
  c[0] = 2.0F;
  c[1] = -2.0F;
  const Tile clipped = actual_tile(QuantKind::int8_a2, c, 0.5F);
  CHECK(clipped.scale == oracle_mul(1.0F, std::bit_cast<float>(0x3C010204U)));
  CHECK(std::bit_cast<std::int8_t>(clipped.codes[0]) == 127);
  CHECK(std::bit_cast<std::int8_t>(clipped.codes[1]) == -127);
  CHECK(std::bit_cast<std::int8_t>(clipped.codes[2]) == 32);  // 31.75
  for (const QuantKind kind : {QuantKind::e4m3, QuantKind::hif8}) {
    const Tile with = actual_tile(kind, c, 0.5F);
    const Tile without = actual_tile(kind, c, 1.0F);
    CHECK(same(with.scale, without.scale));
    CHECK(with.codes == without.codes);
  }
}

TEST_CASE("tile_quant: alpha 0 gives scale 0 and codes 0") {
  Rng rng(seed());
  const Tile tile = actual_tile(QuantKind::int8_a2, random_tile(rng, -2, 2), 0.0F);
  CHECK(same(tile.scale, 0.0F));
  CHECK(tile.codes == std::vector<std::uint8_t>(128, 0));
}

TEST_CASE("tile_quant: a zero tile is floored for 8-bit floats and not for int8") {
  const std::vector<float> zeros(128, 0.0F);
  CHECK(bits_of(actual_tile(QuantKind::e4m3, zeros, 1.0F).scale) == 0x346FACADU);
  CHECK(bits_of(actual_tile(QuantKind::hif8, zeros, 1.0F).scale) == 0x3151B717U);
  CHECK(bits_of(actual_tile(QuantKind::int8_a2, zeros, 1.0F).scale) == 0U);
  CHECK(bits_of(actual_tile(QuantKind::int8_950, zeros, 1.0F).scale) == 0U);
  for (const QuantKind kind : kKinds) {
    CHECK(actual_tile(kind, zeros, 1.0F).codes == std::vector<std::uint8_t>(128, 0));
  }
  // Just around the floor.
  std::vector<float> c(128, 0.0F);
  for (const float v : {1e-4F, std::nextafter(1e-4F, 0.0F), std::nextafter(1e-4F, 1.0F), 1e-10F}) {
    c[7] = v;
    for (const QuantKind kind : kKinds) check_tile(kind, c, 1.0F);
  }
}

TEST_CASE("tile_quant: NaN and infinity stay in their tile's scale, codes become 0") {
  for (const QuantKind kind : kKinds) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const std::size_t at : {0U, 64U, 127U}) {
        std::vector<float> c(128, 1.0F);
        c[at] = bad;
        check_tile(kind, c, 1.0F);
        CHECK(std::isfinite(actual_tile(kind, c, 1.0F).scale) == false);
      }
    }
  }
}

}  // namespace mla_prolog::test
