// The inputs of golden cases, made element by element from a seed and the tensor's name.
#pragma once

#include <cstdint>
#include <span>

namespace mla_prolog::tools {

enum class GeneratorType : std::uint8_t { int8, uint8, int16, int32, int64, e8m0, f32, bf16, f16, e4m3, hif8 };

/// Uniform values in lo..hi. Integer types use the integers, float types the doubles.
struct Generator {
  GeneratorType type = GeneratorType::f32;
  std::int64_t lo_integer = 0;
  std::int64_t hi_integer = 0;
  double lo = 0.0;
  double hi = 0.0;
};

std::size_t element_size(GeneratorType type) noexcept;
constexpr bool is_integer(GeneratorType type) noexcept { return type <= GeneratorType::e8m0; }

/// The n-th output (from 0) of a splitmix64 generator started at `state`.
std::uint64_t splitmix64(std::uint64_t state, std::uint64_t n) noexcept;

/// Fills `bytes`, a whole number of elements; the result does not depend on the number of threads that help.
/// @param state  seed xor fnv1a64(tensor name)
void generate(const Generator& generator, std::uint64_t state, std::span<std::byte> bytes);

}  // namespace mla_prolog::tools
