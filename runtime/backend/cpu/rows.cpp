#include "runtime/backend/cpu/rows.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/cache/slots.hpp"

namespace mla_prolog::cpu {
namespace {

using kernels::bf16_t;

template <typename T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}

RowAddress row_address(const Layer& layer, std::int64_t block_stride, std::int64_t row_width,
                       std::size_t element_bytes) {
  return {.mode = layer.cache_mode,
          .block_size = layer.block_size,
          .block_stride = block_stride,
          .row_width = row_width,
          .nz_width = static_cast<std::int64_t>(32 / element_bytes)};
}

const float* token_scale(const Run& run, std::int64_t t) {
  return run.layer.x_operand == Operand::bf16 || run.layer.x_operand == Operand::mx
             ? nullptr
             : as<float>(run.tensors.dequant_scale_x) + t;
}

void store_per_tile(const Run& run, std::int64_t slot, const bf16_t* kr, const RowScratch& s) {
  const Layer& layer = run.layer;
  const float alpha = layer.clips_tiles() ? *as<float>(run.tensors.k_nope_clip_alpha) : 1.0F;
  float scales[kHckv / kTileSize];
  for (std::int64_t tile = 0; tile < kHckv / kTileSize; ++tile) {
    run.rows.tile_quant(layer.cache_kind, s.normed + tile * kTileSize, alpha, s.cache_row + tile * kTileSize,
                        scales + tile);
  }
  constexpr std::size_t kKrBytes = static_cast<std::size_t>(kDr) * sizeof(bf16_t);
  std::memcpy(s.cache_row + kHckv, kr, kKrBytes);
  std::memcpy(s.cache_row + kHckv + kKrBytes, scales, sizeof scales);
  write_row(row_address(layer, layer.kv_stride, kPerTileRow, 1), slot, s.cache_row, kPerTileRow, 1,
            run.tensors.kv_cache);
}

}  // namespace

std::int64_t row_scratch_width(const Layer& layer) { return std::max({layer.hcq, kDkvColumns, layer.d + kDr}); }

void finish_projection(const Run& run, Operand operand, const void* m, std::int64_t n, std::int64_t count,
                       const float* token_scale, const void* channel_scales, bf16_t* row, float* out) {
  const bool token_first = run.layer.token_first();
  switch (operand) {
    case Operand::bf16:
      run.rows.round_to_bf16(as<float>(m), count, row);
      run.rows.widen_bf16(row, count, out);
      break;
    case Operand::int8:
      run.rows.dequant_int32(as<std::int32_t>(m), count, *token_scale, as<float>(channel_scales) + n, token_first, out);
      break;
    case Operand::mx:
      std::memcpy(out, m, static_cast<std::size_t>(count) * sizeof(float));
      break;
    case Operand::e4m3:
    case Operand::hif8:
      run.rows.dequant_float32(as<float>(m), count, *token_scale, as<float>(channel_scales) + n, token_first, out);
      break;
  }
}

void compress_query(const Run& run, std::int64_t t, const void* m, const RowScratch& s, std::int64_t i,
                    const CompressedQuery& cq) {
  const Layer& layer = run.layer;
  finish_projection(run, layer.x_operand, m, 0, layer.hcq, token_scale(run, t), run.tensors.dequant_scale_w_dq, s.row,
                    s.projected);
  run.rows.rms_norm(s.projected, layer.hcq, 1.0F / static_cast<float>(layer.hcq), layer.epsilon_cq,
                    as<bf16_t>(run.tensors.rmsnorm_gamma_cq), layer.qc_qr_scale, layer.apply_qc_qr_scale, s.normed);
  const std::int64_t row_bytes = layer.hcq * code_bytes(layer.cq_operand);
  std::uint8_t* codes = cq.codes + i * row_bytes;
  const void* scale = nullptr;
  std::size_t scale_bytes = 0;
  if (layer.cq_operand == Operand::bf16) {
    run.rows.round_to_bf16(s.normed, layer.hcq, reinterpret_cast<bf16_t*>(codes));
  } else if (layer.cq_operand == Operand::mx) {
    std::uint8_t* scales = cq.mx_scales + i * (layer.hcq / kMxBlock);
    run.rows.mx_quant(s.normed, layer.hcq, codes, scales);
    scale = scales;
    scale_bytes = static_cast<std::size_t>(layer.hcq / kMxBlock);
  } else {
    const auto* smooth = layer.smooth_scales ? as<float>(run.tensors.smooth_scales_cq) : nullptr;
    run.rows.dynamic_quant(layer.cq_kind, s.normed, smooth, layer.hcq, codes, cq.scales + i);
    scale = cq.scales + i;
    scale_bytes = sizeof(float);
  }
  if (!layer.query_norm) return;
  std::memcpy(static_cast<std::byte*>(run.tensors.query_norm) + t * row_bytes, codes,
              static_cast<std::size_t>(row_bytes));
  if (scale != nullptr) {
    std::memcpy(static_cast<std::byte*>(run.tensors.dequant_scale_q_norm) + static_cast<std::size_t>(t) * scale_bytes,
                scale, scale_bytes);
  }
}

void store_latent(const Run& run, std::int64_t t, const void* m, const RowScratch& s) {
  const Layer& layer = run.layer;
  const std::int64_t slot = run.slot[t];
  finish_projection(run, layer.x_operand, m, 0, kDkvColumns, token_scale(run, t), run.tensors.dequant_scale_w_dkv_kr,
                    s.row, s.projected);
  run.rows.rms_norm(s.projected, kHckv, 1.0F / static_cast<float>(kHckv), layer.epsilon_ckv,
                    as<bf16_t>(run.tensors.rmsnorm_gamma_ckv), layer.kc_scale, layer.apply_kc_scale, s.normed);
  bf16_t kr[kDr];
  run.rows.rope(s.projected + kHckv, as<bf16_t>(run.tensors.rope_sin) + t * kDr,
                as<bf16_t>(run.tensors.rope_cos) + t * kDr, kr);
  if (layer.cache_quant == CacheQuant::per_tile) {
    store_per_tile(run, slot, kr, s);
    return;
  }
  if (layer.cache_quant == CacheQuant::none) {
    run.rows.round_to_bf16(s.normed, kHckv, s.row);
    write_row(row_address(layer, layer.kv_stride, kHckv, sizeof(bf16_t)), slot, s.row, kHckv * sizeof(bf16_t),
              sizeof(bf16_t), run.tensors.kv_cache);
  } else {
    const std::int64_t stride = layer.cache_quant == CacheQuant::per_channel ? 1 : 0;
    run.rows.static_quant(layer.cache_kind, s.normed, as<float>(run.tensors.quant_scale_ckv), stride, kHckv,
                          s.cache_row);
    write_row(row_address(layer, layer.kv_stride, kHckv, 1), slot, s.cache_row, kHckv, 1, run.tensors.kv_cache);
  }
  if (layer.cache_quant == CacheQuant::per_channel) {
    run.rows.widen_bf16(kr, kDr, s.normed);
    run.rows.static_quant(kernels::QuantKind::int8_a2, s.normed, as<float>(run.tensors.quant_scale_ckr), 1, kDr,
                          s.cache_row);
    write_row(row_address(layer, layer.kr_stride, kDr, 1), slot, s.cache_row, kDr, 1, run.tensors.kr_cache);
  } else {
    write_row(row_address(layer, layer.kr_stride, kDr, sizeof(bf16_t)), slot, kr, sizeof kr, sizeof(bf16_t),
              run.tensors.kr_cache);
  }
}

void split_head(const Run& run, std::int64_t t, std::int64_t h, const void* m, const float* cq_scale,
                const RowScratch& s, bf16_t* qc) {
  const Layer& layer = run.layer;
  const std::int64_t columns = layer.d + kDr;
  const float* z = s.projected;
  if (layer.cq_operand == Operand::bf16) {  // q^C takes the rounded results as they are
    run.rows.round_to_bf16(as<float>(m), layer.d, qc);
    run.rows.round_to_bf16(as<float>(m) + layer.d, kDr, s.row);
    run.rows.widen_bf16(s.row, kDr, s.projected + layer.d);
  } else if (layer.cq_operand == Operand::mx) {
    z = as<float>(m);
    run.rows.round_to_bf16(z, layer.d, qc);
  } else {
    finish_projection(run, layer.cq_operand, m, h * columns, columns, cq_scale, run.tensors.dequant_scale_w_uq_qr,
                      s.row, s.projected);
    run.rows.round_to_bf16(z, layer.d, qc);
  }
  run.rows.rope(z + layer.d, as<bf16_t>(run.tensors.rope_sin) + t * kDr, as<bf16_t>(run.tensors.rope_cos) + t * kDr,
                static_cast<bf16_t*>(run.tensors.query_rope) + (t * layer.n + h) * kDr);
}

void quantise_query(const Run& run, std::int64_t t, std::int64_t h, const bf16_t* qn) {
  const Layer& layer = run.layer;
  const std::int64_t token_head = t * layer.n + h;
  float* scale = static_cast<float*>(run.tensors.dequant_scale_q_nope) + token_head;
  run.rows.dynamic_quant_bf16(layer.query_kind, qn, kHckv,
                              static_cast<std::uint8_t*>(run.tensors.query) + token_head * kHckv, scale);
  run.rows.scale_bf16(static_cast<bf16_t*>(run.tensors.query_rope) + token_head * kDr, kDr,
                      *as<float>(run.tensors.quant_scale_ckv) / *scale);
}

}  // namespace mla_prolog::cpu
