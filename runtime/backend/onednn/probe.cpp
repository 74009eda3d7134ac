#include "runtime/backend/onednn/probe.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace mla_prolog::onednn {
namespace {

struct Pattern {
  const char* name;
  int left;
  int weights;
  bool random;
};
constexpr Pattern kPatterns[] = {{"-128 * -128", -128, -128, false},
                                 {"127 * 127", 127, 127, false},
                                 {"-128 * 127", -128, 127, false},
                                 {"127 * -128", 127, -128, false},
                                 {"full-range", 0, 0, true}};

void fill(std::vector<std::int8_t>& values, int value, bool random, std::uint32_t seed) {
  if (!random) {
    std::ranges::fill(values, static_cast<std::int8_t>(value));
    return;
  }
  std::ranges::generate(values, [&seed] {
    seed = seed * 1664525U + 1013904223U;
    return static_cast<std::int8_t>(seed >> 24);
  });
}

// Of the first, a middle and the last row.
std::string first_difference(const Shape& shape, std::int64_t tokens, const std::vector<std::int8_t>& left,
                             const std::vector<std::int8_t>& weights, const std::vector<std::int32_t>& results) {
  std::vector<std::int32_t> want(static_cast<std::size_t>(shape.columns));
  for (const std::int64_t t : {std::int64_t{0}, tokens / 2, tokens - 1}) {
    std::ranges::fill(want, 0);
    for (std::int64_t k = 0; k < shape.k; ++k) {
      const std::int32_t x = left[static_cast<std::size_t>(t * shape.k + k)];
      const std::int8_t* row = weights.data() + k * shape.columns;
      for (std::int64_t n = 0; n < shape.columns; ++n) want[static_cast<std::size_t>(n)] += x * row[n];
    }
    for (std::int64_t n = 0; n < shape.columns; ++n) {
      const std::int32_t got = results[static_cast<std::size_t>(t * shape.columns + n)];
      const std::int32_t right = want[static_cast<std::size_t>(n)];
      if (got != right) return "gives " + std::to_string(got) + ", exact is " + std::to_string(right);
    }
  }
  return {};
}

std::string find_inexactness(const Matmul& matmul) {
  const Shape& shape = matmul.shape();
  std::vector<std::int8_t> left(static_cast<std::size_t>(shape.max_tokens * shape.k));
  std::vector<std::int8_t> weights(static_cast<std::size_t>(shape.k * shape.columns));
  std::vector<std::byte> prepared(matmul.prepared_bytes());
  std::vector<std::int32_t> results(static_cast<std::size_t>(shape.max_tokens * shape.columns));
  std::vector<std::byte> scratch(matmul.scratch_bytes());
  for (const Pattern& pattern : kPatterns) {
    fill(left, pattern.left, pattern.random, 1);
    fill(weights, pattern.weights, pattern.random, 2);
    if (!matmul.prepare(weights.data(), prepared.data())) return "cannot prepare weights";
    for (const std::int64_t tokens : {shape.max_tokens, shape.max_tokens - 1}) {
      if (!matmul.takes(tokens)) continue;
      if (!matmul.multiply(tokens, left.data(), prepared.data(), results.data(), scratch.data())) return "fails";
      const std::string difference = first_difference(shape, tokens, left, weights, results);
      if (!difference.empty()) return "is not exact: a sum of " + std::string(pattern.name) + " products " + difference;
    }
  }
  return {};
}

}  // namespace

const char* name(Type type) noexcept {
  switch (type) {
    case Type::s8:
      return "s8s8s32";
    case Type::bf16:
      return "bf16bf16f32";
    case Type::f32:
      return "f32f32f32";
  }
  return "";
}

std::size_t operand_bytes(Type type) noexcept { return type == Type::s8 ? 1 : type == Type::bf16 ? 2 : 4; }

std::string inexactness(const Matmul& matmul) {
  static std::mutex mutex;
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::string> known;
  const Shape& shape = matmul.shape();
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace({shape.k, shape.columns, shape.max_tokens});
  if (is_new) entry->second = find_inexactness(matmul);
  return entry->second;
}

std::string unusable(const Matmul& matmul) {
  if (matmul.shape().type == Type::s8) {
    const std::string reason = inexactness(matmul);
    if (!reason.empty()) return matmul.implementation() + " " + reason;
  }
  if (matmul.allocates()) return matmul.implementation() + " allocates while it runs";
  return {};
}

Probe probe(Type type) {
  const MadeMatmul made = make_matmul({.type = type, .k = 1536, .columns = 192, .max_tokens = 16});
  if (made.matmul == nullptr) return {{}, made.reason};
  return {made.matmul->implementation(), unusable(*made.matmul)};
}

}  // namespace mla_prolog::onednn
