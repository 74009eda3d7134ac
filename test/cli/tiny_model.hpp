// A synthetic layer as a checkpoint stores it: the weights in any storage, and the numbers they stand for.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "test/cli/cli.hpp"

namespace mla_prolog::test {

// Sizes that are no multiple of the 128-wide scale blocks.
inline constexpr std::size_t kHe = 160;
inline constexpr std::size_t kHcq = 192;
inline constexpr std::size_t kHeads = 4;
inline constexpr std::size_t kD = 32;
inline constexpr std::size_t kV = 48;

inline float e4m3(std::uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                        : std::ldexp(1.0F + static_cast<float>(mantissa) / 8, exponent - 7);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

inline float f16(std::uint16_t code) {
  const int exponent = code >> 10 & 31;
  const int mantissa = code & 1023;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                        : std::ldexp(1.0F + static_cast<float>(mantissa) / 1024, exponent - 15);
  return (code & 0x8000) != 0 ? -magnitude : magnitude;
}

// A weight as stored and as the numbers it stands for.
struct Weight {
  std::string name;  // without the prefix
  std::size_t rows;
  std::size_t columns;
  std::vector<OwnedTensor> stored;
  std::vector<float> numbers;

  float at(std::size_t row, std::size_t column) const { return numbers[row * columns + column]; }
};

struct Model {
  std::string prefix;
  std::vector<Weight> weights;
  std::mt19937 random{20240607};

  Model(const std::string& storage, const std::string& prefix_text) : prefix(prefix_text) {
    add("q_a_proj.weight", kHcq, kHe, storage);
    add("q_b_proj.weight", kHeads * (kD + 64), kHcq, storage);
    add("kv_a_proj_with_mqa.weight", 576, kHe, storage);
    add("kv_b_proj.weight", kHeads * (kD + kV), 512, storage);
    const std::string norms = storage == "fp8" ? "bf16" : storage;
    add("q_a_layernorm.weight", kHcq, 0, norms);
    add("kv_a_layernorm.weight", 512, 0, norms);
  }

  void add(const std::string& name, std::size_t rows, std::size_t columns, const std::string& storage) {
    Weight weight{name, rows, columns, {}, {}};
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows)};
    if (columns != 0) shape.push_back(static_cast<std::int64_t>(columns));
    const std::size_t count = rows * std::max<std::size_t>(1, columns);
    if (storage == "fp8") {
      std::vector<std::uint8_t> codes(count);
      for (auto& code : codes) {
        do code = static_cast<std::uint8_t>(random());
        while ((code & 0x7F) == 0x7F);  // no NaN
      }
      const std::size_t scale_columns = (columns + 127) / 128;
      std::vector<float> scales((rows + 127) / 128 * scale_columns);
      for (auto& scale : scales) scale = 0.001F * static_cast<float>(1 + random() % 100);
      for (std::size_t i = 0; i < count; ++i) {
        weight.numbers.push_back(e4m3(codes[i]) * scales[i / columns / 128 * scale_columns + i % columns / 128]);
      }
      weight.stored.push_back(tensor(prefix + name, tools::StorageType::f8_e4m3, shape, codes));
      weight.stored.push_back(
          tensor(prefix + name + "_scale_inv", tools::StorageType::f32,
                 {static_cast<std::int64_t>((rows + 127) / 128), static_cast<std::int64_t>(scale_columns)}, scales));
    } else if (storage == "f32") {
      for (std::size_t i = 0; i < count; ++i) {
        weight.numbers.push_back((static_cast<float>(random() % 2000003) - 1000001.0F) * 1e-7F);
      }
      weight.stored.push_back(tensor(prefix + name, tools::StorageType::f32, shape, weight.numbers));
    } else {
      std::vector<std::uint16_t> codes(count);
      for (auto& code : codes) {
        if (storage == "bf16") {
          code = bf16_of((static_cast<float>(random() % 2001) - 1000.0F) * 1e-4F);
          weight.numbers.push_back(of_bf16(code));
        } else {
          code = static_cast<std::uint16_t>(random() & 0xAFFF);  // finite, below 1
          weight.numbers.push_back(f16(code));
        }
      }
      weight.stored.push_back(
          tensor(prefix + name, storage == "bf16" ? tools::StorageType::bf16 : tools::StorageType::f16, shape, codes));
    }
    weights.push_back(std::move(weight));
  }

  const Weight& operator[](const std::string& name) const {
    for (const Weight& weight : weights) {
      if (weight.name.rfind(name, 0) == 0) return weight;
    }
    throw std::runtime_error("no " + name);
  }

  std::vector<OwnedTensor> tensors() const {
    std::vector<OwnedTensor> all;
    for (const Weight& weight : weights) all.insert(all.end(), weight.stored.begin(), weight.stored.end());
    return all;
  }
};

}  // namespace mla_prolog::test
