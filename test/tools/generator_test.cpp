// The golden cases' generator against published splitmix64 outputs, and its distribution of values.
#include "tools/cases/generator.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "test/catch.hpp"

using namespace mla_prolog::tools;

TEST_CASE("splitmix64 gives the published sequence") {
  const std::vector<std::uint64_t> published = {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                                4593380528125082431U, 16408922859458223821U};
  for (std::size_t i = 0; i < published.size(); ++i) CHECK(splitmix64(1234567, i) == published[i]);
}

TEST_CASE("integers cover their range and nothing else") {
  Generator generator;
  generator.type = GeneratorType::int8;
  generator.lo_integer = -128;
  generator.hi_integer = 127;
  std::vector<std::byte> bytes(100000);
  generate(generator, 5, bytes);
  std::vector<int> counts(256);
  for (const std::byte byte : bytes) ++counts[std::to_integer<std::size_t>(byte)];
  CHECK(*std::min_element(counts.begin(), counts.end()) > 250);  // 390 expected
  CHECK(*std::max_element(counts.begin(), counts.end()) < 550);

  generator.type = GeneratorType::int64;
  generator.lo_integer = INT64_MIN;
  generator.hi_integer = INT64_MAX;
  std::vector<std::byte> wide(16);
  generate(generator, 5, wide);
  std::uint64_t second = 0;
  std::memcpy(&second, wide.data() + 8, 8);
  CHECK(second == (splitmix64(5, 1) ^ 0x8000000000000000U));
}

TEST_CASE("floats are lo + (hi - lo) * u, element by element across blocks") {
  Generator generator;
  generator.type = GeneratorType::f32;
  generator.lo = -3.0;
  generator.hi = 5.0;
  constexpr std::size_t kCount = 10001;
  std::vector<float> values(kCount);
  generate(generator, 99, std::as_writable_bytes(std::span(values)));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, kCount - 1}) {
    const double unit = static_cast<double>(splitmix64(99, i) >> 11) / 9007199254740992.0;
    CHECK(values[i] == static_cast<float>(-3.0 + 8.0 * unit));
  }
}
