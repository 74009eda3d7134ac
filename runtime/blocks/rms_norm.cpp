#include <cfloat>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/row_kernels.hpp"
#include "mla_prolog/blocks.hpp"
#include "runtime/blocks/arguments.hpp"
#include "runtime/blocks/row_buffer.hpp"

namespace mla_prolog {

Status rms_norm(const ConstTensorView& v, const ConstTensorView& gamma, float epsilon, float scale,
                const TensorView& y) noexcept {
  const std::int64_t n = blocks::row_width(v.desc);
  const std::int64_t rows = blocks::row_count(v.desc);
  blocks::Arguments arguments;
  arguments.tensor("v", v, {DType::float32, DType::bf16})
      .rank_at_least("v", v.desc, 1)
      .width_multiple("v", v.desc, 64)
      .tensor("gamma", gamma, {DType::bf16})
      .elements("gamma", gamma.desc, n)
      .tensor("y", y, {DType::float32, DType::bf16})
      .rows("y", y.desc, rows)
      .width("y", y.desc, n);
  const bool in_place = y.data == v.data && y.desc.dtype == v.desc.dtype;
  if (!in_place) arguments.separate("y", y, v);
  arguments.separate("y", y, gamma);
  if (!arguments.ok()) return arguments.status();

  const kernels::RowKernels* kernels = blocks::row_kernels();
  if (kernels == nullptr) return blocks::isa_unavailable();
  const bool apply_scale = !(std::fabs(scale - 1.0F) < FLT_EPSILON);
  blocks::RowBuffer row(*kernels, n);
  if (!row.ok()) return row.status();
  for (std::int64_t r = 0; r < rows; ++r) {
    row.load(v, r);
    kernels->rms_norm(row.values(), n, 1.0F / static_cast<float>(n), epsilon,
                      static_cast<const kernels::bf16_t*>(gamma.data), scale, apply_scale, row.values());
    row.store(y, r);
  }
  return {};
}

}  // namespace mla_prolog
