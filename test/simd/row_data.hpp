// Rows that are hard on rounding, maxima and special values, and buffers that notice writes past their ends.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mla_prolog::test {

using Random = std::mt19937_64;

// How the values of a row are spread.
enum class Spread {
  normal,        // standard normal
  heavy_tailed,  // magnitudes over thirty powers of two
  all_patterns,  // uniform over the 2^32 bit patterns: NaN of any payload, infinities, subnormals
  finite,        // uniform over the finite patterns
  ties,          // halfway points at many precisions, a largest value that makes scales exact
  subnormal,     // subnormal float32 only
  tiny,          // around the smallest normal, where reciprocals overflow
  huge,          // around the largest finite, where squares and products overflow
  bf16_values,   // normal values rounded to bf16
  one_nan,       // normal but for one NaN
  one_infinity,  // normal but for one infinity
  zeros,         // zeros of both signs
};

inline constexpr Spread kSpreads[] = {Spread::normal,      Spread::heavy_tailed, Spread::all_patterns, Spread::finite,
                                      Spread::ties,        Spread::subnormal,    Spread::tiny,         Spread::huge,
                                      Spread::bf16_values, Spread::one_nan,      Spread::one_infinity, Spread::zeros};

inline std::string name_of(Spread spread) {
  constexpr const char* kNames[] = {"normal", "heavy_tailed", "all_patterns", "finite",  "ties",         "subnormal",
                                    "tiny",   "huge",         "bf16_values",  "one_nan", "one_infinity", "zeros"};
  return kNames[static_cast<int>(spread)];
}

inline float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t to_bits(float v) { return std::bit_cast<std::uint32_t>(v); }

// m * 2^e with a random sign, m in [1, 2) having `fraction_bits` random bits and then a one: a tie at that precision.
inline float random_tie(Random& random, int low_exponent, int high_exponent) {
  const auto fraction_bits = static_cast<unsigned>(random() % 12);
  const auto exponent = static_cast<std::uint32_t>(
      127 + low_exponent + static_cast<int>(random() % static_cast<std::uint64_t>(high_exponent - low_exponent + 1)));
  const auto fraction = static_cast<std::uint32_t>(random()) & ((1u << fraction_bits) - 1);
  const std::uint32_t mantissa = ((fraction << 1) | 1u) << (22 - fraction_bits);
  return from_bits((static_cast<std::uint32_t>(random()) & 0x80000000u) | (exponent << 23) | mantissa);
}

inline float random_value(Spread spread, Random& random) {
  std::normal_distribution<double> normal(0.0, 1.0);
  const auto bits = static_cast<std::uint32_t>(random());
  const std::uint32_t sign = bits & 0x80000000u;
  switch (spread) {
    case Spread::heavy_tailed:
      return static_cast<float>(normal(random) * std::exp2(static_cast<double>(random() % 30) - 15.0));
    case Spread::all_patterns:
      return from_bits(bits);
    case Spread::finite:
      return from_bits((bits & 0x7F800000u) == 0x7F800000u ? bits & 0xBFFFFFFFu : bits);
    case Spread::ties:
      return random_tie(random, -12, 5);
    case Spread::subnormal:
      return from_bits(bits & 0x807FFFFFu);
    case Spread::tiny:
      return from_bits(sign | (bits % 0x03000000u));
    case Spread::huge:
      return from_bits(sign | (0x7F7FFFFFu - bits % 0x02000000u));
    case Spread::bf16_values:
      return from_bits(to_bits(static_cast<float>(normal(random))) & 0xFFFF0000u);
    case Spread::zeros:
      return from_bits(sign);
    default:
      return static_cast<float>(normal(random));
  }
}

// The largest values of the 8-bit formats: a row that holds one of them as its maximum has a scale of (nearly) 1.
inline std::vector<float> random_row(Spread spread, std::int64_t n, Random& random) {
  std::vector<float> row(static_cast<std::size_t>(n));
  for (float& v : row) v = random_value(spread, random);
  float& chosen = row[random() % row.size()];
  const auto bits = static_cast<std::uint32_t>(random());
  if (spread == Spread::ties) {
    constexpr float kLargest[] = {127.0F, 448.0F, 32768.0F, 254.0F, 63.5F};
    chosen = kLargest[random() % std::size(kLargest)];
  } else if (spread == Spread::one_nan) {
    chosen = from_bits((bits & 0x80000000u) | 0x7F800000u | (1u + (bits & 0x7FFFFEu)));
  } else if (spread == Spread::one_infinity) {
    chosen = from_bits((bits & 0x80000000u) | 0x7F800000u);
  }
  return row;
}

// `size` elements at an address that is aligned for T and nothing more, between guard bytes.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
    bytes_.assign(kGuard + size_ * sizeof(T) + kGuard, kFill);
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(static_cast<std::int64_t>(values.size())) {
    if (!values.empty()) std::memcpy(data(), values.data(), values.size() * sizeof(T));
  }

  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  std::size_t size() const { return size_; }
  std::vector<T> values() const {
    std::vector<T> copy(size_);
    if (size_ != 0) std::memcpy(copy.data(), bytes_.data() + kGuard, size_ * sizeof(T));
    return copy;
  }
  bool guards_intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[i] != kFill || bytes_[bytes_.size() - 1 - i] != kFill) return false;
    }
    return true;
  }

 private:
  // A multiple of the element but of no vector: std::vector's storage is 16-byte aligned.
  static constexpr std::size_t kGuard = 64 + sizeof(T);
  static constexpr unsigned char kFill = 0xA5;
  std::size_t size_;
  std::vector<unsigned char> bytes_;
};

// Where the first difference is, or empty. Every NaN equals every NaN when `nan_is_nan`.
template <typename T>
std::string first_difference(const std::vector<T>& expected, const std::vector<T>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &actual[i], sizeof(T)) == 0) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(expected[i]) + ", got " +
           std::to_string(actual[i]);
  }
  return {};
}

// The payload of a NaN that is an intermediate result is not promised.
inline std::vector<float> with_one_nan(std::vector<float> values) {
  for (float& v : values) {
    if (v != v) v = from_bits(0x7FC00000u);
  }
  return values;
}

}  // namespace mla_prolog::test
