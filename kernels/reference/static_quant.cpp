// Cache quantisation with a given scale, per tensor or per channel (numerics.md 8.2, 8.3): one product, one conversion.
#include "kernels/reference/encode.hpp"
#include "kernels/reference/rows.hpp"

namespace mla_prolog::kernels::reference {

void static_quant(QuantKind kind, const float* c, const float* scale, std::int64_t scale_stride, std::int64_t n,
                  std::uint8_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) codes[i] = encode(kind, c[i] * scale[i * scale_stride]);
}

}  // namespace mla_prolog::kernels::reference
