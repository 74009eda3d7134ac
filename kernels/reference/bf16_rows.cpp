// Rows to and from bf16, and the query's rope factor (numerics.md 6.4).
#include "kernels/formats/bf16.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {

void scale_bf16(bf16_t* x, std::int64_t n, float factor) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = bf16_from_float(float_from_bf16(x[i]) * factor);
}

void round_to_bf16(const float* x, std::int64_t n, bf16_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16_from_float(x[i]);
}

void widen_bf16(const bf16_t* x, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = float_from_bf16(x[i]);
}

}  // namespace mla_prolog::kernels::reference
