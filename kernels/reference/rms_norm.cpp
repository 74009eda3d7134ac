// RmsNorm (numerics.md 2.4): y = v / sqrt(sum(v^2) * r + epsilon) * gamma * scale.
//
// Every product and every sum is rounded to float32 on its own. The squares are summed in 64 lanes (lane l takes
// elements l, l + 64, ... in ascending order), the lanes by a binary tree over neighbours. The mean is a multiplication
// by r = 1.0f/n; the normalisation is a true division.
#include <array>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {

void rms_norm(const float* v, std::int64_t n, float reciprocal_n, float epsilon, const bf16_t* gamma, float scale,
              bool apply_scale, float* y) {
  constexpr std::int64_t kLanes = 64;
  std::array<float, kLanes> lanes{};
  for (std::int64_t i = 0; i < n; ++i) {
    float& lane = lanes[static_cast<std::size_t>(i % kLanes)];
    lane = lane + v[i] * v[i];
  }
  for (std::size_t width = kLanes / 2; width >= 1; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) lanes[l] = lanes[2 * l] + lanes[2 * l + 1];
  }
  const float mean = lanes[0] * reciprocal_n;
  const float root = std::sqrt(mean + epsilon);
  for (std::int64_t i = 0; i < n; ++i) {
    float value = v[i] / root;
    value = value * float_from_bf16(gamma[i]);
    if (apply_scale) value = value * scale;
    y[i] = value;
  }
}

}  // namespace mla_prolog::kernels::reference
