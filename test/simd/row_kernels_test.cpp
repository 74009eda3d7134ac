// Every row kernel of every set that this machine runs, bit by bit against the scalar reference.
#include "kernels/row_kernels.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "kernels/dispatch/isa_registry.hpp"
#include "test/catch.hpp"
#include "test/simd/row_data.hpp"

namespace mla_prolog::test {
namespace {

using kernels::bf16_t;
using kernels::KernelSet;
using kernels::QuantKind;
using kernels::RowKernels;

constexpr std::int64_t kSizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,   13,   14,  15,
                                   16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 1023, 1025, 512, 1536};
constexpr QuantKind kKinds[] = {QuantKind::int8_a2, QuantKind::int8_a2_query, QuantKind::int8_950, QuantKind::e4m3,
                                QuantKind::hif8};
constexpr QuantKind kStaticKinds[] = {QuantKind::int8_a2, QuantKind::int8_950, QuantKind::e4m3, QuantKind::hif8};

std::vector<const KernelSet*> sets_of_this_machine() {
  std::vector<const KernelSet*> sets;
  for (const KernelSet& set : kernels::kernel_sets()) {
    if (kernels::unavailable_reason(set, kernels::cpu_features()).empty()) sets.push_back(&set);
  }
  return sets;
}

// check(rows, random, context) for each set but the reference.
template <typename Check>
void for_each_set(Check check) {
  for (const KernelSet* set : sets_of_this_machine()) {
    if (set->isa == Isa::scalar) continue;
    Random random(seed());
    check(*set->rows, random, std::string(set->name));
  }
}

const RowKernels& reference() { return kernels::reference_row_kernels(); }

std::vector<bf16_t> random_bf16(Spread spread, std::int64_t n, Random& random) {
  std::vector<bf16_t> codes;
  for (const float v : random_row(spread, n, random)) codes.push_back(static_cast<bf16_t>(to_bits(v) >> 16));
  return codes;
}

template <typename T>
void require_same(const std::vector<T>& expected, const Guarded<T>& actual, const std::string& context) {
  const std::string difference = first_difference(expected, actual.values());
  if (!difference.empty() || !actual.guards_intact()) {
    INFO(context);
    INFO(difference);
    REQUIRE(difference.empty());
    REQUIRE(actual.guards_intact());
  }
}

std::string describe(const std::string& set, Spread spread, std::int64_t n) {
  return set + ", " + name_of(spread) + ", n = " + std::to_string(n);
}

TEST_CASE("this machine's sets include the scalar reference", "[simd]") {
  std::string names;
  for (const KernelSet* set : sets_of_this_machine()) names += std::string(" ") + set->name;
  WARN("sets tested:" << names);
  REQUIRE(sets_of_this_machine().front()->isa == Isa::scalar);
}

TEST_CASE("rms_norm equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : {64, 128, 192, 512, 1536, 2048}) {
        for (const float epsilon : {1e-5F, 0.0F, -1.0F}) {
          const bool apply_scale = random() % 2 == 0;
          const float scale = random_value(Spread::normal, random);
          Guarded<float> v(random_row(spread, n, random));
          Guarded<bf16_t> gamma(random_bf16(Spread::normal, n, random));
          std::vector<float> expected(v.size());
          const float r = 1.0F / static_cast<float>(n);
          reference().rms_norm(v.data(), n, r, epsilon, gamma.data(), scale, apply_scale, expected.data());
          Guarded<float> y(n);
          rows.rms_norm(v.data(), n, r, epsilon, gamma.data(), scale, apply_scale, y.data());
          const std::string context = describe(set, spread, n);
          require_same(with_one_nan(expected), Guarded<float>(with_one_nan(y.values())), context);
          REQUIRE(y.guards_intact());
          rows.rms_norm(v.data(), n, r, epsilon, gamma.data(), scale, apply_scale, v.data());
          require_same(with_one_nan(expected), Guarded<float>(with_one_nan(v.values())), context + ", in place");
          REQUIRE(v.guards_intact());
        }
      }
    }
  });
}

// The reference itself sums in the stated order: a sum that any other order rounds differently.
TEST_CASE("rms_norm sums 64 lanes and then neighbours", "[simd]") {
  constexpr std::int64_t kN = 128;
  std::vector<float> v(kN, 0.0F);
  // Lane 0: 2^24, to which a lone 1 is lost. Lanes 1 and 65 are one lane: 1 + 1 = 2, which 2^24 keeps.
  v[0] = 4096.0F;
  v[1] = 1.0F;
  v[65] = 1.0F;
  const std::vector<bf16_t> gamma(kN, 0x3F80);
  const float expected = 4096.0F / std::sqrt(16777218.0F);
  for (const KernelSet* set : sets_of_this_machine()) {
    std::vector<float> y(kN);
    set->rows->rms_norm(v.data(), kN, 1.0F, 0.0F, gamma.data(), 1.0F, false, y.data());
    INFO(set->name);
    REQUIRE(to_bits(y[0]) == to_bits(expected));
  }
}

TEST_CASE("dynamic_quant equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : kSizes) {
        for (const QuantKind kind : kKinds) {
          for (const bool smoothed : {false, true}) {
            Guarded<float> y(random_row(spread, n, random));
            Guarded<float> smooth(random_row(Spread::normal, n, random));
            const float* factor = smoothed ? smooth.data() : nullptr;
            std::vector<std::uint8_t> expected(y.size());
            std::vector<float> expected_scale(1);
            reference().dynamic_quant(kind, y.data(), factor, n, expected.data(), expected_scale.data());
            Guarded<std::uint8_t> codes(n);
            Guarded<float> scale(1);
            rows.dynamic_quant(kind, y.data(), factor, n, codes.data(), scale.data());
            const std::string context = describe(set, spread, n) + ", kind " + std::to_string(static_cast<int>(kind));
            require_same(expected, codes, context);
            require_same(expected_scale, scale, context);
          }
        }
      }
    }
  });
}

TEST_CASE("dynamic_quant_bf16 equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : kSizes) {
        for (const QuantKind kind : kKinds) {
          Guarded<bf16_t> y(random_bf16(spread, n, random));
          std::vector<std::uint8_t> expected(y.size());
          std::vector<float> expected_scale(1);
          reference().dynamic_quant_bf16(kind, y.data(), n, expected.data(), expected_scale.data());
          Guarded<std::uint8_t> codes(n);
          Guarded<float> scale(1);
          rows.dynamic_quant_bf16(kind, y.data(), n, codes.data(), scale.data());
          const std::string context = describe(set, spread, n) + ", kind " + std::to_string(static_cast<int>(kind));
          require_same(expected, codes, context);
          require_same(expected_scale, scale, context);
        }
      }
    }
  });
}

TEST_CASE("dynamic_quant_bf16 is dynamic_quant of the widened row", "[simd]") {
  for (const KernelSet* set : sets_of_this_machine()) {
    Random random(seed());
    for (const Spread spread : kSpreads) {
      for (const QuantKind kind : kKinds) {
        const std::vector<bf16_t> y = random_bf16(spread, 512, random);
        std::vector<float> wide;
        for (const bf16_t code : y) wide.push_back(from_bits(std::uint32_t{code} << 16));
        std::vector<std::uint8_t> expected(y.size());
        std::vector<float> expected_scale(1);
        set->rows->dynamic_quant(kind, wide.data(), nullptr, 512, expected.data(), expected_scale.data());
        Guarded<std::uint8_t> codes(512);
        Guarded<float> scale(1);
        set->rows->dynamic_quant_bf16(kind, y.data(), 512, codes.data(), scale.data());
        require_same(expected, codes, set->name);
        require_same(expected_scale, scale, set->name);
      }
    }
  }
}

TEST_CASE("mx_quant equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : {32, 64, 96, 512, 1536}) {
        Guarded<float> y(random_row(spread, n, random));
        std::vector<std::uint8_t> expected(y.size());
        std::vector<std::uint8_t> expected_scales(y.size() / 32);
        reference().mx_quant(y.data(), n, expected.data(), expected_scales.data());
        Guarded<std::uint8_t> codes(n);
        Guarded<std::uint8_t> scales(n / 32);
        rows.mx_quant(y.data(), n, codes.data(), scales.data());
        require_same(expected, codes, describe(set, spread, n));
        require_same(expected_scales, scales, describe(set, spread, n));
      }
    }
  });
}

TEST_CASE("static_quant equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const Spread scales : {Spread::normal, Spread::all_patterns}) {
        for (const std::int64_t n : kSizes) {
          for (const QuantKind kind : kStaticKinds) {
            for (const std::int64_t stride : {0, 1}) {
              Guarded<float> c(random_row(spread, n, random));
              Guarded<float> scale(random_row(scales, stride == 0 ? 1 : n, random));
              std::vector<std::uint8_t> expected(c.size());
              reference().static_quant(kind, c.data(), scale.data(), stride, n, expected.data());
              Guarded<std::uint8_t> codes(n);
              rows.static_quant(kind, c.data(), scale.data(), stride, n, codes.data());
              require_same(expected, codes, describe(set, spread, n));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("tile_quant equals the reference", "[simd]") {
  constexpr std::int64_t kTile = 128;
  const float nan = std::nanf("");
  const float infinity = HUGE_VALF;
  for_each_set([&](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const float alpha : {1.0F, 0.75F, 1.5F, 0.0F, -0.0F, -1.0F, 1e-38F, 1e38F, infinity, -infinity, nan}) {
        for (const QuantKind kind : kStaticKinds) {
          for (int repeat = 0; repeat < 4; ++repeat) {
            Guarded<float> c(random_row(spread, kTile, random));
            std::vector<std::uint8_t> expected(kTile);
            std::vector<float> expected_scale(1);
            reference().tile_quant(kind, c.data(), alpha, expected.data(), expected_scale.data());
            Guarded<std::uint8_t> codes(kTile);
            Guarded<float> scale(1);
            rows.tile_quant(kind, c.data(), alpha, codes.data(), scale.data());
            const std::string context = describe(set, spread, kTile) + ", alpha " + std::to_string(alpha);
            require_same(expected, codes, context);
            require_same(expected_scale, scale, context);
          }
        }
      }
    }
  });
}

template <typename T>
void check_dequant(void (*reference_kernel)(const T*, std::int64_t, float, const float*, bool, float*),
                   void (*kernel)(const T*, std::int64_t, float, const float*, bool, float*), std::vector<T> values,
                   Spread spread, Random& random, const std::string& context) {
  Guarded<T> m(values);
  const auto n = static_cast<std::int64_t>(values.size());
  Guarded<float> channel(random_row(spread, n, random));
  const float token = random_value(spread, random);
  for (const bool token_first : {false, true}) {
    std::vector<float> expected(m.size());
    reference_kernel(m.data(), n, token, channel.data(), token_first, expected.data());
    Guarded<float> out(n);
    kernel(m.data(), n, token, channel.data(), token_first, out.data());
    require_same(with_one_nan(expected), Guarded<float>(with_one_nan(out.values())), context);
    REQUIRE(out.guards_intact());
  }
}

TEST_CASE("dequant equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : kSizes) {
        std::vector<std::int32_t> sums(static_cast<std::size_t>(n));
        // Few bits to all, so that some need rounding (ties included) on the way to float32.
        for (std::int32_t& v : sums) v = static_cast<std::int32_t>(random()) >> (random() % 12);
        check_dequant(reference().dequant_int32, rows.dequant_int32, sums, spread, random, describe(set, spread, n));
        check_dequant(reference().dequant_float32, rows.dequant_float32, random_row(spread, n, random), spread, random,
                      describe(set, spread, n));
      }
    }
    Guarded<float> m(random_row(Spread::normal, 77, random));
    Guarded<float> channel(random_row(Spread::normal, 77, random));
    std::vector<float> expected(77);
    reference().dequant_float32(m.data(), 77, 3.0F, channel.data(), true, expected.data());
    rows.dequant_float32(m.data(), 77, 3.0F, channel.data(), true, m.data());
    require_same(expected, m, set + ", in place");
  });
}

TEST_CASE("rope equals the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const Spread angles : {Spread::normal, Spread::all_patterns, Spread::zeros}) {
        for (int repeat = 0; repeat < 8; ++repeat) {
          Guarded<float> x(random_row(spread, 64, random));
          Guarded<bf16_t> sin(random_bf16(angles, 64, random));
          Guarded<bf16_t> cos(random_bf16(angles, 64, random));
          std::vector<bf16_t> expected(64);
          reference().rope(x.data(), sin.data(), cos.data(), expected.data());
          Guarded<bf16_t> out(64);
          rows.rope(x.data(), sin.data(), cos.data(), out.data());
          require_same(expected, out, describe(set, spread, 64));
        }
      }
    }
  });
}

TEST_CASE("bf16 rows equal the reference", "[simd]") {
  for_each_set([](const RowKernels& rows, Random& random, const std::string& set) {
    for (const Spread spread : kSpreads) {
      for (const std::int64_t n : kSizes) {
        const std::string context = describe(set, spread, n);
        Guarded<float> x(random_row(spread, n, random));
        std::vector<bf16_t> expected(x.size());
        reference().round_to_bf16(x.data(), n, expected.data());
        Guarded<bf16_t> codes(n);
        rows.round_to_bf16(x.data(), n, codes.data());
        require_same(expected, codes, context);

        Guarded<bf16_t> narrow(random_bf16(spread, n, random));
        std::vector<float> expected_wide(narrow.size());
        reference().widen_bf16(narrow.data(), n, expected_wide.data());
        Guarded<float> wide(n);
        rows.widen_bf16(narrow.data(), n, wide.data());
        require_same(expected_wide, wide, context);

        const float factor = random_value(random() % 4 == 0 ? Spread::all_patterns : Spread::normal, random);
        std::vector<bf16_t> expected_scaled = narrow.values();
        reference().scale_bf16(expected_scaled.data(), n, factor);
        rows.scale_bf16(narrow.data(), n, factor);
        require_same(expected_scaled, narrow, context);
      }
    }
  });
}

}  // namespace
}  // namespace mla_prolog::test
