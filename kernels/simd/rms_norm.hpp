// RmsNorm (numerics.md 2.4): y = v / sqrt(sum(v^2) * r + epsilon) * gamma * scale.
//
// The sum has 64 lanes whatever the width of a vector: 64 / width accumulators, lane l in accumulator l / width. Pairs
// of neighbours then lie in even and odd elements. Products and sums are rounded separately; the division is a true
// one.
#pragma once

#include "kernels/simd/narrow.hpp"

namespace mla_prolog::kernels {
namespace {

inline constexpr std::int64_t kSumLanes = 64;

// The sum of `count` vectors' elements by the binary tree over neighbours; overwrites them.
template <class A>
inline float pairwise_sum(Floats<A>* vectors, std::int64_t count) {
  for (std::int64_t half = count / 2; half >= 1; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) {
      vectors[i] = even_elements(vectors[2 * i], vectors[2 * i + 1]) + odd_elements(vectors[2 * i], vectors[2 * i + 1]);
    }
  }
  float lanes[kWidth<A>];
  vectors[0].store_unaligned(lanes);
  for (std::int64_t width = kWidth<A> / 2; width >= 1; width /= 2) {
    for (std::int64_t l = 0; l < width; ++l) lanes[l] = lanes[2 * l] + lanes[2 * l + 1];
  }
  return lanes[0];
}

template <class A>
inline float sum_of_squares(const float* v, std::int64_t n) {
  constexpr std::int64_t kVectors = kSumLanes / kWidth<A>;
  // At most eight accumulators at a time, so that they stay in registers where there are sixteen.
  constexpr std::int64_t kPart = kVectors < 8 ? kVectors : 8;
  Floats<A> lanes[std::size_t{kVectors}];
  for (std::int64_t part = 0; part < kVectors; part += kPart) {
    Floats<A> sums[std::size_t{kPart}];
    for (std::int64_t k = 0; k < kPart; ++k) sums[k] = Floats<A>(0.0F);
    for (std::int64_t i = part * kWidth<A>; i < n; i += kSumLanes) {
      for (std::int64_t k = 0; k < kPart; ++k) {
        const Floats<A> x = load<A>(v + i + k * kWidth<A>, AllLanes{});
        sums[k] = sums[k] + x * x;
      }
    }
    for (std::int64_t k = 0; k < kPart; ++k) lanes[part + k] = sums[k];
  }
  return pairwise_sum<A>(lanes, kVectors);
}

template <class A>
void rms_norm(const float* v, std::int64_t n, float reciprocal_n, float epsilon, const bf16_t* gamma, float scale,
              bool apply_scale, float* y) {
  const float mean = sum_of_squares<A>(v, n) * reciprocal_n;
  const Floats<A> root(__builtin_sqrtf(mean + epsilon));
  const Floats<A> last(scale);
  for (std::int64_t i = 0; i < n; i += kWidth<A>) {
    Floats<A> value = divide(load<A>(v + i, AllLanes{}), root);
    value = value * load<A>(gamma + i, AllLanes{});
    if (apply_scale) value = value * last;
    store<A>(y + i, value, AllLanes{});
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
