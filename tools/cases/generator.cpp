#include "tools/cases/generator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "mla_prolog/convert.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15U;
constexpr std::size_t kBlock = 4096;  // elements a thread makes at a time

DType float_dtype(GeneratorType type) noexcept {
  switch (type) {
    case GeneratorType::bf16:
      return DType::bf16;
    case GeneratorType::f16:
      return DType::float16;
    case GeneratorType::e4m3:
      return DType::float8_e4m3fn;
    case GeneratorType::hif8:
      return DType::hifloat8;
    default:
      return DType::float32;
  }
}

void fill_integers(const Generator& generator, std::uint64_t state, std::size_t first, std::size_t count,
                   std::size_t size, std::byte* out) noexcept {
  const auto lo = static_cast<std::uint64_t>(generator.lo_integer);
  const std::uint64_t values = static_cast<std::uint64_t>(generator.hi_integer) - lo + 1;  // 0: all 2^64
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t z = splitmix64(state, first + i);
    const std::uint64_t value = lo + (values == 0 ? z : z % values);
    std::memcpy(out + i * size, &value, size);  // two's complement, little endian: the low bytes
  }
}

void fill_floats(const Generator& generator, std::uint64_t state, std::size_t first, std::size_t count,
                 std::byte* out) noexcept {
  std::array<float, kBlock> values;
  const double width = generator.hi - generator.lo;
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(splitmix64(state, first + i) >> 11) * 0x1p-53;
    values[i] = static_cast<float>(generator.lo + width * unit);
  }
  encode(float_dtype(generator.type), values.data(), count, out);
}

}  // namespace

std::size_t element_size(GeneratorType type) noexcept {
  switch (type) {
    case GeneratorType::int8:
    case GeneratorType::uint8:
    case GeneratorType::e8m0:
    case GeneratorType::e4m3:
    case GeneratorType::hif8:
      return 1;
    case GeneratorType::int16:
    case GeneratorType::bf16:
    case GeneratorType::f16:
      return 2;
    case GeneratorType::int32:
    case GeneratorType::f32:
      return 4;
    case GeneratorType::int64:
      return 8;
  }
  return 1;
}

std::uint64_t splitmix64(std::uint64_t state, std::uint64_t n) noexcept {
  std::uint64_t z = state + (n + 1) * kIncrement;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

void generate(const Generator& generator, std::uint64_t state, std::span<std::byte> bytes) {
  const std::size_t size = element_size(generator.type);
  const std::size_t count = bytes.size() / size;
  const auto blocks = static_cast<std::ptrdiff_t>((count + kBlock - 1) / kBlock);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t block = 0; block < blocks; ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kBlock;
    const std::size_t here = std::min(kBlock, count - first);
    std::byte* const out = bytes.data() + first * size;
    if (is_integer(generator.type)) {
      fill_integers(generator, state, first, here, size, out);
    } else {
      fill_floats(generator, state, first, here, out);
    }
  }
}

}  // namespace mla_prolog::tools
