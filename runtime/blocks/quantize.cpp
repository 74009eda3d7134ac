#include "kernels/reference/rows.hpp"
#include "kernels/row_kernels.hpp"
#include "mla_prolog/blocks.hpp"
#include "runtime/blocks/arguments.hpp"
#include "runtime/blocks/row_buffer.hpp"

namespace mla_prolog {
namespace {

using kernels::QuantKind;

QuantKind kind_of(DType codes, Profile profile) {
  switch (codes) {
    case DType::float8_e4m3fn:
      return QuantKind::e4m3;
    case DType::hifloat8:
      return QuantKind::hif8;
    default:
      return profile == Profile::ascend950 ? QuantKind::int8_950 : QuantKind::int8_a2;
  }
}

std::uint8_t* code_row(const TensorView& codes, std::int64_t row, std::int64_t width) {
  return static_cast<std::uint8_t*>(codes.data) + row * width;
}

}  // namespace

Status quantize_per_token(const ConstTensorView& x, const ConstTensorView& smooth, Profile profile,
                          const TensorView& codes, const TensorView& scale) noexcept {
  const std::int64_t n = blocks::row_width(x.desc);
  const std::int64_t rows = blocks::row_count(x.desc);
  blocks::Arguments arguments;
  arguments.tensor("x", x, {DType::float32, DType::bf16}).rank_at_least("x", x.desc, 1).width_multiple("x", x.desc, 1);
  if (smooth.desc.present()) {
    arguments.tensor("smooth", smooth, {DType::float32}).elements("smooth", smooth.desc, n);
  }
  arguments.tensor("codes", codes, {DType::int8, DType::float8_e4m3fn, DType::hifloat8})
      .rows("codes", codes.desc, rows)
      .width("codes", codes.desc, n)
      .tensor("scale", scale, {DType::float32})
      .elements("scale", scale.desc, rows)
      .separate("codes", codes, x)
      .separate("codes", codes, smooth)
      .separate("scale", scale, x)
      .separate("scale", scale, smooth)
      .separate("scale", scale, codes);
  if (!arguments.ok()) return arguments.status();
  const kernels::RowKernels* kernels = blocks::row_kernels();
  if (kernels == nullptr) return blocks::isa_unavailable();

  const auto* smooth_scales = smooth.desc.present() ? static_cast<const float*>(smooth.data) : nullptr;
  blocks::RowBuffer row(*kernels, n);
  if (!row.ok()) return row.status();
  for (std::int64_t r = 0; r < rows; ++r) {
    row.load(x, r);
    kernels->dynamic_quant(kind_of(codes.desc.dtype, profile), row.values(), smooth_scales, n, code_row(codes, r, n),
                           static_cast<float*>(scale.data) + r);
  }
  return {};
}

Status quantize_mx(const ConstTensorView& x, const TensorView& codes, const TensorView& scale) noexcept {
  const std::int64_t n = blocks::row_width(x.desc);
  const std::int64_t rows = blocks::row_count(x.desc);
  blocks::Arguments arguments;
  arguments.tensor("x", x, {DType::float32, DType::bf16})
      .rank_at_least("x", x.desc, 1)
      .width_multiple("x", x.desc, kMxBlock)
      .tensor("codes", codes, {DType::float8_e4m3fn})
      .rows("codes", codes.desc, rows)
      .width("codes", codes.desc, n)
      .tensor("scale", scale, {DType::float8_e8m0})
      .rows("scale", scale.desc, rows)
      .width("scale", scale.desc, n / kMxBlock)
      .separate("codes", codes, x)
      .separate("scale", scale, x)
      .separate("scale", scale, codes);
  if (!arguments.ok()) return arguments.status();
  const kernels::RowKernels* kernels = blocks::row_kernels();
  if (kernels == nullptr) return blocks::isa_unavailable();

  // bf16 values stay what they are when rounded to bf16 again, so one path serves both dtypes.
  blocks::RowBuffer row(*kernels, n);
  if (!row.ok()) return row.status();
  for (std::int64_t r = 0; r < rows; ++r) {
    row.load(x, r);
    kernels->mx_quant(row.values(), n, code_row(codes, r, n), code_row(scale, r, n / kMxBlock));
  }
  return {};
}

Status quantize_per_tile(const ConstTensorView& c, float alpha, const TensorView& codes,
                         const TensorView& scale) noexcept {
  constexpr std::int64_t kTiles = kHckv / kTileSize;
  const std::int64_t rows = blocks::row_count(c.desc);
  blocks::Arguments arguments;
  arguments.tensor("c", c, {DType::float32})
      .rank_at_least("c", c.desc, 1)
      .width("c", c.desc, kHckv)
      .tensor("codes", codes, {DType::int8, DType::float8_e4m3fn, DType::hifloat8})
      .rows("codes", codes.desc, rows)
      .width("codes", codes.desc, kHckv)
      .tensor("scale", scale, {DType::float32})
      .rows("scale", scale.desc, rows)
      .width("scale", scale.desc, kTiles)
      .separate("codes", codes, c)
      .separate("scale", scale, c)
      .separate("scale", scale, codes);
  if (!arguments.ok()) return arguments.status();
  const kernels::RowKernels* kernels = blocks::row_kernels();
  if (kernels == nullptr) return blocks::isa_unavailable();

  const QuantKind kind = kind_of(codes.desc.dtype, Profile::ascend950);
  for (std::int64_t tile = 0; tile < rows * kTiles; ++tile) {
    kernels->tile_quant(kind, static_cast<const float*>(c.data) + tile * kTileSize, alpha,
                        code_row(codes, tile, kTileSize), static_cast<float*>(scale.data) + tile);
  }
  return {};
}

}  // namespace mla_prolog
