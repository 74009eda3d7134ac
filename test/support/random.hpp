// Random numbers for tests: splitmix64, so that a seed gives the same data with every standard library.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace mla_prolog::test {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// In [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// In [low, high).
  double real(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
  bool chance(double probability) { return real(0, 1) < probability; }

  template <typename Container>
  auto pick(const Container& from) {
    return *(std::begin(from) + static_cast<std::ptrdiff_t>(next() % std::size(from)));
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + next() % from.size());
  }

  /// A float32 with any bit pattern: every exponent alike, so zeros, subnormals, infinities and NaN too.
  float any_float() { return std::bit_cast<float>(static_cast<std::uint32_t>(next())); }
  /// A float32 of either sign with an exponent in [low, high].
  float float_of_exponent(int low, int high) {
    const auto exponent = static_cast<std::uint32_t>(integer(low, high) + 127);
    const auto bits = static_cast<std::uint32_t>(next());
    return std::bit_cast<float>((bits & 0x807FFFFFU) | (exponent << 23));
  }

  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[next() % i]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace mla_prolog::test
