// The 8-bit and bf16 encoders of every set around every rounding boundary, and on a grid over all float32 patterns.
//
// At the boundaries the expected code comes from the format's list of values: below the midpoint of two neighbours the
// lower, above it the upper, at it by the tie rule. On the grid it comes from the scalar reference.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/dispatch/isa_registry.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/hif8.hpp"
#include "test/catch.hpp"
#include "test/simd/row_data.hpp"

namespace mla_prolog::test {
namespace {

using kernels::KernelSet;
using kernels::QuantKind;
using kernels::RowKernels;

template <typename Check>
void for_each_set(Check check) {
  for (const KernelSet& set : kernels::kernel_sets()) {
    if (!kernels::unavailable_reason(set, kernels::cpu_features()).empty()) continue;
    INFO(set.name);
    check(*set.rows);
  }
}

std::vector<std::uint8_t> encode(const RowKernels& rows, QuantKind kind, const std::vector<float>& values) {
  const float one = 1.0F;
  std::vector<std::uint8_t> codes(values.size());
  rows.static_quant(kind, values.data(), &one, 0, static_cast<std::int64_t>(values.size()), codes.data());
  return codes;
}

// A value and the code it must have.
struct Expectation {
  float value;
  std::uint8_t code;
};

void check(QuantKind kind, const std::vector<Expectation>& expectations) {
  std::vector<float> values;
  for (const Expectation& e : expectations) values.push_back(e.value);
  for_each_set([&](const RowKernels& rows) {
    const std::vector<std::uint8_t> codes = encode(rows, kind, values);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == expectations[i].code) continue;
      if (++wrong > 3) continue;
      UNSCOPED_INFO("value " << values[i] << " (0x" << std::hex << to_bits(values[i]) << "): expected "
                             << int{expectations[i].code} << ", got " << int{codes[i]});
    }
    REQUIRE(wrong == 0);
  });
}

float step(float v, int ulps) {
  return from_bits(static_cast<std::uint32_t>(static_cast<std::int64_t>(to_bits(v)) + ulps));
}

// Non-negative codes in ascending order of value with their values; the midpoint rule between each pair.
struct Format {
  QuantKind kind;
  std::vector<std::pair<double, std::uint8_t>> values;
  bool ties_to_even_code;  // else away from zero
};

std::vector<Expectation> expectations_of(const Format& format, std::uint8_t sign_bit) {
  std::vector<Expectation> list;
  const auto add = [&](float magnitude, std::uint8_t code) {
    list.push_back({magnitude, code});
    // A code that is zero without a sign of its own (hif8) stays so.
    const bool signless_zero = code == 0 && format.kind == QuantKind::hif8;
    list.push_back({-magnitude, static_cast<std::uint8_t>(signless_zero ? 0 : code | sign_bit)});
  };
  for (std::size_t i = 0; i + 1 < format.values.size(); ++i) {
    const auto [low, low_code] = format.values[i];
    const auto [high, high_code] = format.values[i + 1];
    const auto middle = static_cast<float>((low + high) / 2);
    REQUIRE(static_cast<double>(middle) == (low + high) / 2);
    const bool up = !format.ties_to_even_code || high_code % 2 == 0;
    add(middle, up ? high_code : low_code);
    for (int ulps = 1; ulps <= 4; ++ulps) {
      add(step(middle, ulps), high_code);
      add(step(middle, -ulps), low_code);
    }
    if (low > 0) add(static_cast<float>(low), low_code);
  }
  return list;
}

TEST_CASE("e4m3 rounds at every boundary", "[encoders]") {
  Format format{QuantKind::e4m3, {}, true};
  for (int code = 0; code < 0x7F; ++code) {
    format.values.emplace_back(kernels::float_from_e4m3(static_cast<std::uint8_t>(code)), code);
  }
  std::vector<Expectation> list = expectations_of(format, 0x80);
  for (const float beyond : {448.0F, 463.0F, 464.0F, 465.0F, 480.0F, 512.0F, 1e30F, HUGE_VALF}) {
    list.push_back({beyond, 0x7E});
    list.push_back({-beyond, 0xFE});
  }
  list.push_back({0.0F, 0x00});
  list.push_back({-0.0F, 0x80});
  list.push_back({from_bits(0x80000001), 0x80});
  check(QuantKind::e4m3, list);
}

TEST_CASE("hif8 rounds at every boundary", "[encoders]") {
  Format format{QuantKind::hif8, {}, false};
  for (int code = 1; code < 0x80; ++code) {
    const float value = kernels::float_from_hif8(static_cast<std::uint8_t>(code));
    if (std::isfinite(value)) format.values.emplace_back(value, code);
  }
  std::sort(format.values.begin(), format.values.end());
  REQUIRE(format.values.size() == 126);
  std::vector<Expectation> list = expectations_of(format, 0x80);
  for (const float beyond : {32768.0F, 40959.0F, 40960.0F, 49152.0F, 65536.0F, 1e30F, HUGE_VALF}) {
    list.push_back({beyond, 0x6E});
    list.push_back({-beyond, 0xEE});
  }
  // Towards zero the format is not symmetric: all of [2^-23, 2^-22) becomes 2^-22, and below is zero without sign.
  for (const float small : {0x1p-23F, 0x1.000002p-23F, 0x1.fffffep-23F, 0x1p-22F}) {
    list.push_back({small, 0x01});
    list.push_back({-small, 0x81});
  }
  for (const float none : {0.0F, 0x1.fffffep-24F, 0x1p-24F, 0x1p-126F, 0x1p-149F}) {
    list.push_back({none, 0x00});
    list.push_back({-none, 0x00});
  }
  check(QuantKind::hif8, list);
}

TEST_CASE("int8 rounds at every boundary", "[encoders]") {
  std::vector<Expectation> list;
  for (int code = -128; code <= 127; ++code) {
    const auto as_byte = [](int v) { return static_cast<std::uint8_t>(static_cast<std::int8_t>(v)); };
    list.push_back({static_cast<float>(code), as_byte(code)});
    const float middle = static_cast<float>(code) + 0.5F;
    const int even = code % 2 == 0 ? code : code + 1;
    list.push_back({middle, as_byte(std::min(even, 127))});
    const float up = std::nextafter(middle, HUGE_VALF);
    const float down = std::nextafter(middle, -HUGE_VALF);
    list.push_back({up, as_byte(std::min(code + 1, 127))});
    list.push_back({down, as_byte(code)});
  }
  for (const float beyond : {128.0F, 1e9F, 2147483648.0F, 4294967296.0F, 1e38F, HUGE_VALF}) {
    list.push_back({beyond, 127});
    list.push_back({-beyond, 0x80});
  }
  check(QuantKind::int8_a2, list);
  check(QuantKind::int8_950, list);
}

TEST_CASE("NaN of any sign and payload has code 0", "[encoders]") {
  std::vector<Expectation> list;
  for (const std::uint32_t payload : {0x7F800001u, 0x7FBFFFFFu, 0x7FC00000u, 0x7FFFFFFFu}) {
    list.push_back({from_bits(payload), 0x00});
    list.push_back({from_bits(payload | 0x80000000u), 0x00});
  }
  for (const QuantKind kind : {QuantKind::int8_a2, QuantKind::int8_950, QuantKind::e4m3, QuantKind::hif8}) {
    check(kind, list);
  }
}

// Numbers on both sides of where binary16 and then the integer round: the chain of numerics.md 6.2, spelled out there.
TEST_CASE("the query's double rounding goes up from k + 1/2 - u/2", "[encoders]") {
  std::vector<float> row{127.0F};  // the largest: 127/127 = 1, so the values pass unscaled
  std::vector<int> expected{127};
  for (int k = 0; k < 127; ++k) {
    const double boundary = k + 0.5;
    const double a = std::nextafter(boundary, 0.0);  // the binade below the boundary
    const double unit = std::exp2(std::floor(std::log2(a)) - 10);
    const auto tie = static_cast<float>(boundary - unit / 2);  // half a binary16 step below: rounds up to k + 1/2
    row.push_back(tie);
    expected.push_back(k + 1);
    row.push_back(std::nextafter(tie, 0.0F));
    expected.push_back(k);
    row.push_back(-tie);
    expected.push_back(-(k + 1));
    row.push_back(-std::nextafter(tie, 0.0F));
    expected.push_back(-k);
  }
  for_each_set([&](const RowKernels& rows) {
    std::vector<std::uint8_t> codes(row.size());
    float scale = 0;
    rows.dynamic_quant(QuantKind::int8_a2_query, row.data(), nullptr, static_cast<std::int64_t>(row.size()),
                       codes.data(), &scale);
    REQUIRE(scale == 1.0F);
    for (std::size_t i = 0; i < row.size(); ++i) {
      INFO(row[i]);
      REQUIRE(int{static_cast<std::int8_t>(codes[i])} == expected[i]);
    }
  });
}

TEST_CASE("bf16 rounds at every kind of boundary", "[encoders]") {
  std::vector<float> values;
  std::vector<std::uint16_t> expected;
  Random random(seed());
  for (int i = 0; i < 4096; ++i) {
    const auto code = static_cast<std::uint16_t>(random() & 0xFFFE);  // even
    if ((code & 0x7F80) == 0x7F80) continue;
    const std::uint32_t even = std::uint32_t{code} << 16;
    const std::uint32_t odd = even + 0x10000;
    values.insert(values.end(), {from_bits(even + 0x8000), from_bits(even + 0x8001), from_bits(even + 0x7FFF),
                                 from_bits(odd + 0x8000), from_bits(odd + 0x8001), from_bits(odd + 0x7FFF)});
    const auto next = [](int v) { return static_cast<std::uint16_t>(v); };
    expected.insert(expected.end(), {code, next(code + 1), code, next(code + 2), next(code + 2), next(code + 1)});
  }
  values.insert(values.end(),
                {from_bits(0x7F7FFFFF), HUGE_VALF, -HUGE_VALF, from_bits(0xFF800001), from_bits(0x7FFFFFFF)});
  expected.insert(expected.end(), {0x7F80, 0x7F80, 0xFF80, 0x7FC0, 0x7FC0});
  for_each_set([&](const RowKernels& rows) {
    std::vector<std::uint16_t> codes(values.size());
    rows.round_to_bf16(values.data(), static_cast<std::int64_t>(values.size()), codes.data());
    REQUIRE(codes == expected);
  });
}

// The two ways to an encoder: with a given scale of 1, which takes any value, and with a scale found to be 1 because
// the row holds the format's largest value, for which the kernels know that no value is beyond it.
constexpr std::size_t kRow = 1536;

struct Grid {
  QuantKind kind;
  float largest;  // 0: given scale
};

std::vector<std::uint8_t> encode(const RowKernels& rows, const Grid& grid, const std::vector<float>& values) {
  if (grid.largest == 0.0F) return encode(rows, grid.kind, values);
  std::vector<std::uint8_t> codes(values.size());
  float scale = 0.0F;
  rows.dynamic_quant(grid.kind, values.data(), nullptr, static_cast<std::int64_t>(values.size()), codes.data(), &scale);
  if (scale != 1.0F) codes.clear();
  return codes;
}

// Patterns 0, stride, 2 * stride, ... of all 2^32, in rows as long as a real one.
std::uint64_t first_grid_difference(const RowKernels& rows, const Grid& grid, std::uint64_t stride) {
  std::vector<float> values(kRow);
  for (std::uint64_t pattern = 0; pattern < (std::uint64_t{1} << 32); pattern += stride * kRow) {
    for (std::size_t i = 0; i < kRow; ++i) {
      values[i] = from_bits(static_cast<std::uint32_t>(pattern + stride * i));
      if (grid.largest != 0.0F && !(std::fabs(values[i]) <= grid.largest)) values[i] = grid.largest;
    }
    if (grid.largest != 0.0F) values[kRow / 2] = grid.largest;
    const std::vector<std::uint8_t> expected = encode(kernels::reference_row_kernels(), grid, values);
    if (expected.empty() || encode(rows, grid, values) != expected) return pattern;
  }
  return UINT64_MAX;
}

void check_grid(std::uint64_t stride) {
  constexpr Grid kGrids[] = {{QuantKind::int8_a2, 0.0F},    {QuantKind::e4m3, 0.0F},
                             {QuantKind::hif8, 0.0F},       {QuantKind::int8_a2, 127.0F},
                             {QuantKind::int8_950, 127.0F}, {QuantKind::int8_a2_query, 127.0F},
                             {QuantKind::e4m3, 448.0F},     {QuantKind::hif8, 32768.0F}};
  for_each_set([&](const RowKernels& rows) {
    for (const Grid& grid : kGrids) {
      INFO("kind " << static_cast<int>(grid.kind) << ", largest " << grid.largest);
      REQUIRE(first_grid_difference(rows, grid, stride) == UINT64_MAX);
    }
  });
}

TEST_CASE("encoders equal the reference on a grid over all patterns", "[encoders]") { check_grid(509); }

// Minutes per set: only when asked for by its tag.
TEST_CASE("encoders equal the reference on all 2^32 patterns", "[.exhaustive]") { check_grid(1); }

}  // namespace
}  // namespace mla_prolog::test
