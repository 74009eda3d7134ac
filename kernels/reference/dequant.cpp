// Dequantisation of matmul results (numerics.md 2.3): int32 converts with one rounding, then two rounded products whose
// order is the profile's: token scale first (a2) or channel scale first (950).
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {
namespace {

template <typename T>
void dequant(const T* m, std::int64_t n, float token_scale, const float* channel_scale, bool token_first, float* out) {
  for (std::int64_t j = 0; j < n; ++j) {
    const auto value = static_cast<float>(m[j]);
    out[j] = token_first ? (value * token_scale) * channel_scale[j] : (value * channel_scale[j]) * token_scale;
  }
}

}  // namespace

void dequant_int32(const std::int32_t* m, std::int64_t n, float token_scale, const float* channel_scale,
                   bool token_first, float* out) {
  dequant(m, n, token_scale, channel_scale, token_first, out);
}

void dequant_float32(const float* m, std::int64_t n, float token_scale, const float* channel_scale, bool token_first,
                     float* out) {
  dequant(m, n, token_scale, channel_scale, token_first, out);
}

}  // namespace mla_prolog::kernels::reference
