// Quantisation of float weights, done once when a model is loaded. Columns are spread over threads.
#include <algorithm>
#include <cmath>

#include "kernels/formats/bf16.hpp"
#include "kernels/reference/encode.hpp"
#include "kernels/reference/rows.hpp"
#include "mla_prolog/blocks.hpp"
#include "runtime/blocks/arguments.hpp"
#include "runtime/scheduler/team.hpp"

namespace mla_prolog {
namespace {

using kernels::QuantKind;

// Columns a work item handles: whole cache lines of every row.
constexpr std::int64_t kColumns = 64;

float element(const ConstTensorView& w, std::int64_t i) {
  return w.desc.dtype == DType::bf16 ? kernels::float_from_bf16(static_cast<const kernels::bf16_t*>(w.data)[i])
                                     : static_cast<const float*>(w.data)[i];
}

QuantKind kind_of(DType codes) {
  switch (codes) {
    case DType::float8_e4m3fn:
      return QuantKind::e4m3;
    case DType::hifloat8:
      return QuantKind::hif8;
    default:
      return QuantKind::int8_950;
  }
}

blocks::Arguments check_weight(const ConstTensorView& w, const TensorView& codes, std::initializer_list<DType> dtypes) {
  const std::int64_t k = w.desc.rank == 2 ? w.desc.shape[0] : 0;
  const std::int64_t n = w.desc.rank == 2 ? w.desc.shape[1] : 0;
  blocks::Arguments arguments;
  arguments.tensor("w", w, {DType::float32, DType::bf16})
      .rank("w", w.desc, 2)
      .tensor("codes", codes, dtypes)
      .rank("codes", codes.desc, 2)
      .rows("codes", codes.desc, k)
      .width("codes", codes.desc, n)
      .separate("codes", codes, w);
  return arguments;
}

// Calls use(first, count) for column ranges, on all threads.
template <typename Use>
void for_column_ranges(std::int64_t n, Use use) {
  parallel_for((n + kColumns - 1) / kColumns, available_threads(), [&](std::int64_t item, int) {
    const std::int64_t first = item * kColumns;
    use(first, std::min(kColumns, n - first));
  });
}

}  // namespace

Status quantize_weight(const ConstTensorView& w, const TensorView& codes, const TensorView& scale) noexcept {
  blocks::Arguments arguments = check_weight(w, codes, {DType::int8, DType::float8_e4m3fn, DType::hifloat8});
  if (arguments.ok()) {
    arguments.tensor("scale", scale, {DType::float32})
        .elements("scale", scale.desc, w.desc.shape[1])
        .separate("scale", scale, w)
        .separate("scale", scale, codes);
  }
  if (!arguments.ok()) return arguments.status();

  const std::int64_t k = w.desc.shape[0];
  const std::int64_t n = w.desc.shape[1];
  const QuantKind kind = kind_of(codes.desc.dtype);
  const float largest = kernels::reference::largest_value(kind);
  auto* out = static_cast<std::uint8_t*>(codes.data);
  auto* scales = static_cast<float*>(scale.data);
  for_column_ranges(n, [&](std::int64_t first, std::int64_t count) {
    float amax[kColumns] = {};
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < count; ++j) {
        const float a = std::fabs(element(w, i * n + first + j));
        if (a > amax[j] || a != a) amax[j] = a;
      }
    }
    for (std::int64_t j = 0; j < count; ++j) scales[first + j] = kernels::canonical(amax[j] / largest);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t at = i * n + first + j;
        out[at] = kernels::reference::encode(kind, element(w, at) / scales[first + j]);
      }
    }
  });
  return {};
}

Status quantize_weight_mx(const ConstTensorView& w, const TensorView& codes, const TensorView& scale) noexcept {
  blocks::Arguments arguments = check_weight(w, codes, {DType::float8_e4m3fn});
  if (arguments.ok()) {
    const std::int64_t k = w.desc.shape[0];
    const std::int64_t n = w.desc.shape[1];
    arguments.require(k % kMxBlock == 0, "w", k)
        .tensor("scale", scale, {DType::float8_e8m0})
        .rank("scale", scale.desc, 2)
        .rows("scale", scale.desc, n)
        .width("scale", scale.desc, k / kMxBlock)
        .separate("scale", scale, w)
        .separate("scale", scale, codes);
  }
  if (!arguments.ok()) return arguments.status();

  const std::int64_t k = w.desc.shape[0];
  const std::int64_t n = w.desc.shape[1];
  const std::int64_t blocks_per_column = k / kMxBlock;
  auto* out = static_cast<std::uint8_t*>(codes.data);
  auto* scales = static_cast<std::uint8_t*>(scale.data);
  for_column_ranges(n, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t b = 0; b < blocks_per_column; ++b) {
      for (std::int64_t j = first; j < first + count; ++j) {
        kernels::bf16_t values[kMxBlock];
        std::uint8_t block_codes[kMxBlock];
        for (std::int64_t i = 0; i < kMxBlock; ++i) {
          values[i] = kernels::bf16_from_float(element(w, (b * kMxBlock + i) * n + j));
        }
        kernels::reference::mx_quant_bf16(values, kMxBlock, block_codes, scales + j * blocks_per_column + b);
        for (std::int64_t i = 0; i < kMxBlock; ++i) out[(b * kMxBlock + i) * n + j] = block_codes[i];
      }
    }
  });
  return {};
}

}  // namespace mla_prolog
