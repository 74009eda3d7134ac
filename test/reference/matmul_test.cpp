// The summation order of the scalar matmuls, against the same order spelled out with a fused multiply-add made of
// double arithmetic, and against exact integers.
#include "kernels/reference/matmul.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/support/oracle_arithmetic.hpp"
#include "test/support/oracle_formats.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

namespace ref = kernels::reference;

// Offset of (k, n) by the storage shape (N/w0, K/16, 16, w0).
std::size_t nz_offset(std::int64_t k, std::int64_t n, std::int64_t rows, std::int64_t w0) {
  return static_cast<std::size_t>(((n / w0) * (rows / 16) + k / 16) * (16 * w0) + (k % 16) * w0 + n % w0);
}

template <typename T>
std::vector<T> to_nz(const std::vector<T>& w, std::int64_t k, std::int64_t n) {
  constexpr std::int64_t kW0 = 32 / static_cast<std::int64_t>(sizeof(T));
  std::vector<T> out(w.size());
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) out[nz_offset(i, j, k, kW0)] = w[static_cast<std::size_t>(i * n + j)];
  }
  return out;
}

using Operand = std::function<float(std::int64_t)>;

// One output: chunks of 512, each from 0 by ascending fused multiply-adds, chunk sums added in order.
float chunked_dot(std::int64_t k, const Operand& a, const Operand& w) {
  std::vector<float> parts;
  for (std::int64_t i = 0; i < k; ++i) {
    if (i % 512 == 0) parts.push_back(0.0F);
    parts.back() = oracle_fma(a(i), w(i), parts.back());
  }
  float sum = parts.front();
  for (std::size_t p = 1; p < parts.size(); ++p) sum = oracle_add(sum, parts[p]);
  return sum;
}

// Equal to the bit, or both NaN: a NaN's bits are settled where it is stored.
bool agrees(float actual, float expected) { return std::isnan(expected) ? std::isnan(actual) : same(actual, expected); }

template <typename T, typename Fill>
std::vector<T> filled(std::int64_t count, Fill fill) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (auto& v : values) v = static_cast<T>(fill());
  return values;
}

// Compares columns [begin, end) of a float matmul with chunked_dot.
template <typename T, typename Decode, typename Matmul>
void check_chunked(Rng& rng, std::int64_t k, std::int64_t n, std::int64_t begin, std::int64_t end,
                   const std::vector<T>& a, const std::vector<T>& w, Decode decode, Matmul matmul) {
  const std::vector<T> nz = to_nz(w, k, n);
  std::vector<float> c(static_cast<std::size_t>(end - begin) + 2, -7.0F);
  matmul(a.data(), nz.data(), k, begin, end, c.data() + 1);
  CHECK((c.front() == -7.0F && c.back() == -7.0F));
  for (std::int64_t j = begin; j < end; ++j) {
    const float expected = chunked_dot(
        k, [&](std::int64_t i) { return static_cast<float>(decode(a[static_cast<std::size_t>(i)])); },
        [&](std::int64_t i) { return static_cast<float>(decode(w[static_cast<std::size_t>(i * n + j)])); });
    const float actual = c[static_cast<std::size_t>(j - begin) + 1];
    if (!agrees(actual, expected)) {
      FAIL("K " << k << " column " << j << ": " << actual << " != " << expected << ", next random " << rng.next());
    }
  }
}

constexpr std::int64_t kDepths[] = {16, 32, 496, 512, 528, 544, 1024, 1056};

}  // namespace

TEST_CASE("the fused multiply-add made of doubles equals the machine's") {
  Rng rng(seed());
  for (int i = 0; i < 300000; ++i) {
    float a = rng.any_float();
    float b = rng.any_float();
    float c = rng.any_float();
    if (i % 2 == 0) {  // near cancellation and near ties
      a = rng.float_of_exponent(-70, 60);
      b = rng.float_of_exponent(-70, 60);
      c = -oracle_mul(a, b);
      if (i % 4 == 0) c = std::nextafter(c, rng.any_float());
      if (i % 8 == 0) c = oracle_scale(c, static_cast<int>(rng.integer(-30, 30)));
    }
    const float machine = std::fma(a, b, c);
    if (!agrees(oracle_fma(a, b, c), machine)) FAIL(a << " * " << b << " + " << c);
  }
}

TEST_CASE("bf16 matmul keeps the chunked order") {
  Rng rng(seed());
  for (const std::int64_t k : kDepths) {
    const std::int64_t n = 48;
    const auto heavy_tailed = [&] { return oracle_bf16(rng.float_of_exponent(-12, 12)); };
    const auto a = filled<std::uint16_t>(k, heavy_tailed);
    const auto w = filled<std::uint16_t>(k * n, heavy_tailed);
    check_chunked(rng, k, n, 0, n, a, w, oracle_decode_bf16, ref::matmul_bf16);
    check_chunked(rng, k, n, 5, 39, a, w, oracle_decode_bf16, ref::matmul_bf16);  // inside NZ column groups
    check_chunked(rng, k, n, 17, 18, a, w, oracle_decode_bf16, ref::matmul_bf16);
    check_chunked(rng, k, n, 16, 16, a, w, oracle_decode_bf16, ref::matmul_bf16);  // no columns
  }
}

TEST_CASE("bf16 matmul over the whole exponent range") {
  Rng rng(seed());
  for (const std::int64_t k : {std::int64_t{32}, std::int64_t{544}}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const int centre = static_cast<int>(rng.integer(-70, 62));
      const auto wide = [&] { return oracle_bf16(rng.float_of_exponent(centre - 6, centre + 1)); };
      const auto any = [&] { return static_cast<std::uint16_t>(rng.next()); };
      check_chunked(rng, k, 16, 0, 16, filled<std::uint16_t>(k, wide), filled<std::uint16_t>(k * 16, wide),
                    oracle_decode_bf16, ref::matmul_bf16);
      check_chunked(rng, k, 16, 0, 16, filled<std::uint16_t>(k, any), filled<std::uint16_t>(k * 16, wide),
                    oracle_decode_bf16, ref::matmul_bf16);
    }
  }
}

TEST_CASE("e4m3 and hif8 matmuls keep the chunked order") {
  Rng rng(seed());
  for (const std::int64_t k : kDepths) {
    const std::int64_t n = 64;
    const auto any_code = [&] { return rng.next() & 0xFF; };
    const auto any_number = [&] {  // finite in either format
      std::uint64_t code = 0;
      do {
        code = rng.next() & 0xFF;
      } while ((code & 0x7F) == 0x7F || (code & 0x7F) == 0x6F || code == 0x80);
      return code;
    };
    for (const bool finite : {true, false}) {
      const auto fill = [&] { return finite || rng.chance(0.999) ? any_number() : any_code(); };
      const auto a = filled<std::uint8_t>(k, fill);
      const auto w = filled<std::uint8_t>(k * n, fill);
      check_chunked(rng, k, n, 0, n, a, w, oracle_decode_e4m3, ref::matmul_e4m3);
      check_chunked(rng, k, n, 0, n, a, w, oracle_decode_hif8, ref::matmul_hif8);
      check_chunked(rng, k, n, 31, 50, a, w, oracle_decode_e4m3, ref::matmul_e4m3);
      check_chunked(rng, k, n, 31, 50, a, w, oracle_decode_hif8, ref::matmul_hif8);
    }
  }
}

TEST_CASE("weight_uk matmul: row-major, the chunked order, 512 columns") {
  Rng rng(seed());
  for (const std::int64_t d : {16, 48, 128, 192, 528}) {
    const auto values = [&] { return oracle_bf16(rng.float_of_exponent(-8, 8)); };
    const auto a = filled<std::uint16_t>(d, values);
    const auto w = filled<std::uint16_t>(d * 512, values);
    std::vector<float> c(512);
    ref::matmul_uk(a.data(), w.data(), d, c.data());
    for (std::int64_t j = 0; j < 512; ++j) {
      const float expected = chunked_dot(
          d, [&](std::int64_t i) { return static_cast<float>(oracle_decode_bf16(a[static_cast<std::size_t>(i)])); },
          [&](std::int64_t i) {
            return static_cast<float>(oracle_decode_bf16(w[static_cast<std::size_t>(i * 512 + j)]));
          });
      if (!same(c[static_cast<std::size_t>(j)], expected)) FAIL("D " << d << " column " << j);
    }
  }
}

TEST_CASE("the order is what decides: sums that differ in every other order") {
  // 2^24 + 1 - 2^24: within one chunk the 1 is lost; in a chunk of its own it survives until the chunks are added.
  const std::int64_t k = 1024;
  std::vector<std::uint16_t> a(static_cast<std::size_t>(k), 0);
  std::vector<std::uint16_t> w(static_cast<std::size_t>(k * 16), 0);
  const std::uint16_t one = oracle_bf16(1.0F);
  const auto product_at = [&](std::size_t i, float value) {
    a[i] = oracle_bf16(value);
    w[i * 16] = one;
  };
  std::vector<float> c(16);
  const auto first_column = [&] {
    ref::matmul_bf16(a.data(), to_nz(w, k, 16).data(), k, 0, 16, c.data());
    return c[0];
  };
  product_at(0, 0x1p24F);
  product_at(1, 1.0F);
  product_at(2, -0x1p24F);
  CHECK(first_column() == 0.0F);
  product_at(2, 0.0F);
  product_at(511, -0x1p24F);  // the last of the first chunk
  CHECK(first_column() == 0.0F);
  product_at(1, 0.0F);
  product_at(512, 1.0F);  // the first of the second
  CHECK(first_column() == 1.0F);
  product_at(511, 0.0F);
  product_at(513, -0x1p24F);  // now inside the second chunk: 1 - 2^24 = -16777215 exactly, and 2^24 + that = 1
  CHECK(first_column() == 1.0F);
}

TEST_CASE("an accumulator starts at +0 and keeps the sign of an underflow") {
  std::vector<std::uint16_t> a(16, 0);
  std::vector<std::uint16_t> w(16 * 16, 0);
  std::vector<float> c(16);
  a[0] = oracle_bf16(-0.0F);
  w[0] = oracle_bf16(1.0F);
  ref::matmul_bf16(a.data(), to_nz(w, 16, 16).data(), 16, 0, 16, c.data());
  CHECK(same(c[0], 0.0F));  // -0 * 1 + 0
  a.assign(16, oracle_bf16(-0.0F));
  w.assign(16 * 16, oracle_bf16(0.0F));
  a[15] = oracle_bf16(-0x1p-100F);
  w[15 * 16] = oracle_bf16(0x1p-100F);  // the last product: -2^-200 + 0 rounds to -0
  ref::matmul_bf16(a.data(), to_nz(w, 16, 16).data(), 16, 0, 16, c.data());
  CHECK(same(c[0], -0.0F));
  CHECK(same(c[1], 0.0F));
}

TEST_CASE("int8 matmul is exact") {
  Rng rng(seed());
  for (const std::int64_t k : {std::int64_t{16}, std::int64_t{544}, std::int64_t{8192}}) {
    const std::int64_t n = 64;
    for (const bool extreme : {false, true}) {
      const auto fill = [&] { return extreme ? rng.pick({-128, -127, 127}) : rng.integer(-128, 127); };
      auto a = filled<std::int8_t>(k, fill);
      auto w = filled<std::int8_t>(k * n, fill);
      if (extreme) {  // the largest sum of all
        for (std::int64_t i = 0; i < k; ++i) {
          a[static_cast<std::size_t>(i)] = -128;
          w[static_cast<std::size_t>(i * n)] = -128;
        }
      }
      std::vector<std::int32_t> c(40);
      ref::matmul_int8(a.data(), to_nz(w, k, n).data(), k, 0, 40, c.data());
      for (std::int64_t j = 0; j < 40; ++j) {
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          expected += std::int64_t{a[static_cast<std::size_t>(i)]} * w[static_cast<std::size_t>(i * n + j)];
        }
        if (c[static_cast<std::size_t>(j)] != expected) FAIL("K " << k << " column " << j);
      }
      if (extreme) CHECK(c[0] == 16384 * k);
    }
  }
}

TEST_CASE("MX matmul: blocks of 32 scaled with one rounding, 0xFF is NaN") {
  Rng rng(seed());
  const std::int64_t n = 64;
  // Scale bytes: moderate; at the ends, where the factor alone leaves float32; anything at all.
  const std::pair<int, int> ranges[] = {{110, 140}, {0, 20}, {235, 254}, {0, 254}, {0, 255}};
  for (const std::int64_t k : {32, 512, 544, 1056}) {
    for (const auto& [low, high] : ranges) {
      const std::int64_t blocks = k / 32;
      const auto any = [&] { return rng.chance(0.999) ? (rng.next() & 0xFF & ~0x01U) : rng.next() & 0xFF; };
      const auto scale = [&, lo = low, hi = high] { return rng.integer(lo, hi); };
      const auto a = filled<std::uint8_t>(k, any);
      const auto w = filled<std::uint8_t>(k * n, any);
      const auto a_scale = filled<std::uint8_t>(blocks, scale);
      const auto w_scale = filled<std::uint8_t>(n * blocks, scale);
      std::vector<float> c(37);
      ref::matmul_mx(a.data(), a_scale.data(), to_nz(w, k, n).data(), w_scale.data(), k, 3, 40, c.data());
      for (std::int64_t j = 3; j < 40; ++j) {
        std::vector<float> chunks;
        for (std::int64_t b = 0; b < blocks; ++b) {
          if (b % 16 == 0) chunks.push_back(0.0F);
          float block = 0;
          for (std::int64_t i = 32 * b; i < 32 * (b + 1); ++i) {
            block = oracle_fma(static_cast<float>(oracle_decode_e4m3(a[static_cast<std::size_t>(i)])),
                               static_cast<float>(oracle_decode_e4m3(w[static_cast<std::size_t>(i * n + j)])), block);
          }
          const int sa = a_scale[static_cast<std::size_t>(b)];
          const int sb = w_scale[static_cast<std::size_t>(j * blocks + b)];
          const float scaled = sa == 255 || sb == 255 ? NAN : oracle_scale(block, sa + sb - 254);
          chunks.back() = oracle_add(chunks.back(), scaled);
        }
        float expected = chunks.front();
        for (std::size_t p = 1; p < chunks.size(); ++p) expected = oracle_add(expected, chunks[p]);
        const float actual = c[static_cast<std::size_t>(j - 3)];
        if (!agrees(actual, expected)) {
          FAIL("K " << k << " column " << j << " scales " << low << ".." << high << ": " << actual
                    << " != " << expected);
        }
      }
    }
  }
}

}  // namespace mla_prolog::test
