#include "runtime/backend/reference.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/formats/bf16.hpp"
#include "kernels/reference/matmul.hpp"
#include "kernels/reference/rows.hpp"
#include "runtime/backend/arena.hpp"
#include "runtime/cache/slots.hpp"
#include "runtime/scheduler/team.hpp"

namespace mla_prolog {
namespace {

namespace ref = kernels::reference;
using kernels::bf16_t;

// What one thread needs for one token.
struct Scratch {
  std::int32_t* sums;       // int8 matmul results
  float* projected;         // matmul results after dequantisation
  float* normed;            // RmsNorm results, widened queries
  bf16_t* row;              // one bf16 row: q^C, q^N, k^R, c^KV
  std::uint8_t* cache_row;  // one kv_cache row

  static Scratch carve(const Layer& layer, Arena& arena) {
    const std::int64_t widest = std::max({layer.hcq, kDkvColumns, layer.d + kDr});
    return {.sums = arena.take<std::int32_t>(widest),
            .projected = arena.take<float>(widest),
            .normed = arena.take<float>(std::max(layer.hcq, kHckv)),
            .row = arena.take<bf16_t>(std::max(layer.d, kHckv)),
            .cache_row = arena.take<std::uint8_t>(kPerTileRow)};
  }
};

std::size_t operand_bytes(Operand operand) { return operand == Operand::bf16 ? sizeof(bf16_t) : 1; }

// c^Q of all tokens as the operand of weight_uq_qr, between the two passes.
struct CompressedQueries {
  std::byte* codes;  // [T, Hcq]
  float* scale;      // [T]
  std::uint8_t* mx;  // [T, Hcq/32]

  static CompressedQueries carve(const Layer& layer, Arena& arena) {
    const auto width = static_cast<std::int64_t>(operand_bytes(layer.cq_operand));
    const bool mx = layer.cq_operand == Operand::mx;
    return {.codes = arena.take<std::byte>(layer.tokens * layer.hcq * width),
            .scale = arena.take<float>(layer.tokens),
            .mx = arena.take<std::uint8_t>(mx ? layer.tokens * (layer.hcq / kMxBlock) : 0)};
  }
};

// The left operand of a matmul: one token's codes and their scale (float32, or E8M0 bytes for MX).
struct LeftRow {
  const void* codes;
  const void* scale;
};

template <typename T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}

// Columns [n_begin, n_end) of left . weight as the next step sees them: bf16 results rounded to bf16, int8 and fp8
// results dequantised, MX results as they are.
void project(const Layer& layer, Operand operand, LeftRow left, const void* weight, const void* weight_scale,
             std::int64_t k, std::int64_t n_begin, std::int64_t n_end, const Scratch& scratch, float* out) {
  const std::int64_t columns = n_end - n_begin;
  const auto token_scale = [&] { return *as<float>(left.scale); };
  const auto channel_scale = [&] { return as<float>(weight_scale) + n_begin; };
  switch (operand) {
    case Operand::bf16:
      ref::matmul_bf16(as<bf16_t>(left.codes), as<bf16_t>(weight), k, n_begin, n_end, out);
      for (std::int64_t j = 0; j < columns; ++j) out[j] = kernels::float_from_bf16(kernels::bf16_from_float(out[j]));
      break;
    case Operand::int8:
      ref::matmul_int8(as<std::int8_t>(left.codes), as<std::int8_t>(weight), k, n_begin, n_end, scratch.sums);
      ref::dequant_int32(scratch.sums, columns, token_scale(), channel_scale(), layer.token_first(), out);
      break;
    case Operand::mx:
      ref::matmul_mx(as<std::uint8_t>(left.codes), as<std::uint8_t>(left.scale), as<std::uint8_t>(weight),
                     as<std::uint8_t>(weight_scale), k, n_begin, n_end, out);
      break;
    case Operand::e4m3:
      ref::matmul_e4m3(as<std::uint8_t>(left.codes), as<std::uint8_t>(weight), k, n_begin, n_end, out);
      ref::dequant_float32(out, columns, token_scale(), channel_scale(), layer.token_first(), out);
      break;
    case Operand::hif8:
      ref::matmul_hif8(as<std::uint8_t>(left.codes), as<std::uint8_t>(weight), k, n_begin, n_end, out);
      ref::dequant_float32(out, columns, token_scale(), channel_scale(), layer.token_first(), out);
      break;
  }
}

LeftRow token_row(const Layer& layer, const Tensors& tensors, std::int64_t t) {
  const auto* x = as<std::byte>(tensors.token_x) +
                  static_cast<std::size_t>(t * layer.token_x_stride) * operand_bytes(layer.x_operand);
  const void* scale = nullptr;
  if (layer.x_operand == Operand::mx) {
    scale = as<std::uint8_t>(tensors.dequant_scale_x) + t * (layer.he / kMxBlock);
  } else if (layer.x_operand != Operand::bf16) {
    scale = as<float>(tensors.dequant_scale_x) + t;
  }
  return {x, scale};
}

LeftRow compressed_row(const Layer& layer, const CompressedQueries& cq, std::int64_t t) {
  const auto row_bytes = static_cast<std::size_t>(layer.hcq) * operand_bytes(layer.cq_operand);
  const void* scale = cq.scale + t;
  if (layer.cq_operand == Operand::mx) scale = cq.mx + t * (layer.hcq / kMxBlock);
  return {cq.codes + static_cast<std::size_t>(t) * row_bytes, scale};
}

// Copies row t of a per-token tensor.
void copy_row(void* out, const void* row, std::int64_t t, std::size_t row_bytes) {
  std::memcpy(static_cast<std::byte*>(out) + static_cast<std::size_t>(t) * row_bytes, row, row_bytes);
}

// c^Q: project, normalise, quantise; also the query_norm outputs.
void compress_query(const Layer& layer, const Tensors& tensors, std::int64_t t, const CompressedQueries& cq,
                    const Scratch& s) {
  project(layer, layer.x_operand, token_row(layer, tensors, t), tensors.weight_dq, tensors.dequant_scale_w_dq, layer.he,
          0, layer.hcq, s, s.projected);
  ref::rms_norm(s.projected, layer.hcq, 1.0F / static_cast<float>(layer.hcq), layer.epsilon_cq,
                as<bf16_t>(tensors.rmsnorm_gamma_cq), layer.qc_qr_scale, layer.apply_qc_qr_scale, s.normed);
  const auto row_bytes = static_cast<std::size_t>(layer.hcq) * operand_bytes(layer.cq_operand);
  std::byte* codes = cq.codes + static_cast<std::size_t>(t) * row_bytes;
  if (layer.cq_operand == Operand::bf16) {
    ref::round_to_bf16(s.normed, layer.hcq, reinterpret_cast<bf16_t*>(codes));
  } else if (layer.cq_operand == Operand::mx) {
    const std::int64_t blocks = layer.hcq / kMxBlock;
    ref::mx_quant(s.normed, layer.hcq, reinterpret_cast<std::uint8_t*>(codes), cq.mx + t * blocks);
    if (layer.query_norm) {
      copy_row(tensors.dequant_scale_q_norm, cq.mx + t * blocks, t, static_cast<std::size_t>(blocks));
    }
  } else {
    const auto* smooth = layer.smooth_scales ? as<float>(tensors.smooth_scales_cq) : nullptr;
    ref::dynamic_quant(layer.cq_kind, s.normed, smooth, layer.hcq, reinterpret_cast<std::uint8_t*>(codes),
                       cq.scale + t);
    if (layer.query_norm) copy_row(tensors.dequant_scale_q_norm, cq.scale + t, t, sizeof(float));
  }
  if (layer.query_norm) copy_row(tensors.query_norm, codes, t, row_bytes);
}

// One head: up-projection, W_UK absorption, RoPE, and the query's quantisation.
void query_head(const Layer& layer, const Tensors& tensors, std::int64_t t, std::int64_t h, LeftRow cq,
                const Scratch& s) {
  const std::int64_t columns = layer.d + kDr;
  project(layer, layer.cq_operand, cq, tensors.weight_uq_qr, tensors.dequant_scale_w_uq_qr, layer.hcq, h * columns,
          (h + 1) * columns, s, s.projected);
  const std::int64_t token_head = t * layer.n + h;

  auto* rope_out = static_cast<bf16_t*>(tensors.query_rope) + token_head * kDr;
  ref::rope(s.projected + layer.d, as<bf16_t>(tensors.rope_sin) + t * kDr, as<bf16_t>(tensors.rope_cos) + t * kDr,
            rope_out);

  ref::round_to_bf16(s.projected, layer.d, s.row);
  ref::matmul_uk(s.row, as<bf16_t>(tensors.weight_uk) + h * layer.d * kHckv, layer.d, s.normed);
  if (!layer.quantised_query()) {
    ref::round_to_bf16(s.normed, kHckv, static_cast<bf16_t*>(tensors.query) + token_head * kHckv);
    return;
  }
  ref::round_to_bf16(s.normed, kHckv, s.row);
  ref::widen_bf16(s.row, kHckv, s.normed);
  float* scale = static_cast<float*>(tensors.dequant_scale_q_nope) + token_head;
  ref::dynamic_quant(layer.query_kind, s.normed, nullptr, kHckv,
                     static_cast<std::uint8_t*>(tensors.query) + token_head * kHckv, scale);
  ref::scale_bf16(rope_out, kDr, *as<float>(tensors.quant_scale_ckv) / *scale);
}

RowAddress row_address(const Layer& layer, std::int64_t block_stride, std::int64_t row_width,
                       std::size_t element_bytes) {
  return {.mode = layer.cache_mode,
          .block_size = layer.block_size,
          .block_stride = block_stride,
          .row_width = row_width,
          .nz_width = static_cast<std::int64_t>(32 / element_bytes)};
}

// c^KV and k^R of one token into their slot.
void latent_kv(const Layer& layer, const Tensors& tensors, std::int64_t t, std::int64_t slot, const Scratch& s) {
  project(layer, layer.x_operand, token_row(layer, tensors, t), tensors.weight_dkv_kr, tensors.dequant_scale_w_dkv_kr,
          layer.he, 0, kDkvColumns, s, s.projected);
  ref::rms_norm(s.projected, kHckv, 1.0F / static_cast<float>(kHckv), layer.epsilon_ckv,
                as<bf16_t>(tensors.rmsnorm_gamma_ckv), layer.kc_scale, layer.apply_kc_scale, s.normed);
  bf16_t kr[kDr];
  ref::rope(s.projected + kHckv, as<bf16_t>(tensors.rope_sin) + t * kDr, as<bf16_t>(tensors.rope_cos) + t * kDr, kr);

  if (layer.cache_quant == CacheQuant::per_tile) {
    float scales[kHckv / kTileSize];
    const float alpha = layer.clips_tiles() ? *as<float>(tensors.k_nope_clip_alpha) : 1.0F;
    for (std::int64_t tile = 0; tile < kHckv / kTileSize; ++tile) {
      ref::tile_quant(layer.cache_kind, s.normed + tile * kTileSize, alpha, s.cache_row + tile * kTileSize,
                      scales + tile);
    }
    std::memcpy(s.cache_row + kHckv, kr, sizeof kr);
    std::memcpy(s.cache_row + kHckv + sizeof kr, scales, sizeof scales);
    write_row(row_address(layer, layer.kv_stride, kPerTileRow, 1), slot, s.cache_row, kPerTileRow, 1, tensors.kv_cache);
    return;
  }

  if (layer.cache_quant == CacheQuant::none) {
    ref::round_to_bf16(s.normed, kHckv, s.row);
    write_row(row_address(layer, layer.kv_stride, kHckv, sizeof(bf16_t)), slot, s.row, kHckv * sizeof(bf16_t),
              sizeof(bf16_t), tensors.kv_cache);
  } else {
    const std::int64_t stride = layer.cache_quant == CacheQuant::per_channel ? 1 : 0;
    ref::static_quant(layer.cache_kind, s.normed, as<float>(tensors.quant_scale_ckv), stride, kHckv, s.cache_row);
    write_row(row_address(layer, layer.kv_stride, kHckv, 1), slot, s.cache_row, kHckv, 1, tensors.kv_cache);
  }

  if (layer.cache_quant == CacheQuant::per_channel) {
    ref::widen_bf16(kr, kDr, s.normed);
    ref::static_quant(kernels::QuantKind::int8_a2, s.normed, as<float>(tensors.quant_scale_ckr), 1, kDr, s.cache_row);
    write_row(row_address(layer, layer.kr_stride, kDr, 1), slot, s.cache_row, kDr, 1, tensors.kr_cache);
  } else {
    write_row(row_address(layer, layer.kr_stride, kDr, sizeof(bf16_t)), slot, kr, sizeof kr, sizeof(bf16_t),
              tensors.kr_cache);
  }
}

class ReferenceExecutor final : public Executor {
 public:
  ReferenceExecutor(const Layer& layer, int threads) : layer_(layer), threads_(threads) {
    Arena thread_arena(nullptr);
    Scratch::carve(layer_, thread_arena);
    thread_bytes_ = thread_arena.used();
    Arena arena(nullptr);
    CompressedQueries::carve(layer_, arena);
    workspace_bytes_ = arena.used() + thread_bytes_ * static_cast<std::size_t>(threads_);
  }

  std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }

  void execute(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace,
               const onednn::PreparedMatrices* /*prepared*/) const noexcept override {
    Arena arena(workspace);
    const CompressedQueries cq = CompressedQueries::carve(layer_, arena);
    std::byte* thread_space = workspace + arena.used();
    const auto scratch_of = [&](int thread) {
      Arena thread_arena(thread_space + thread_bytes_ * static_cast<std::size_t>(thread));
      return Scratch::carve(layer_, thread_arena);
    };
    parallel_for(2 * layer_.tokens, threads_, [&](std::int64_t item, int thread) {
      const std::int64_t t = item / 2;
      if (item % 2 == 0) {
        compress_query(layer_, tensors, t, cq, scratch_of(thread));
      } else if (slot != nullptr && slot[t] >= 0) {
        latent_kv(layer_, tensors, t, slot[t], scratch_of(thread));
      }
    });
    parallel_for(layer_.tokens * layer_.n, threads_, [&](std::int64_t item, int thread) {
      const std::int64_t t = item / layer_.n;
      query_head(layer_, tensors, t, item % layer_.n, compressed_row(layer_, cq, t), scratch_of(thread));
    });
  }

  std::string describe() const override { return "  token by token from the scalar kernels\n"; }

 private:
  Layer layer_;
  int threads_;
  std::size_t thread_bytes_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace

std::unique_ptr<const Executor> make_reference_executor(const Layer& layer, int threads) {
  return std::make_unique<ReferenceExecutor>(layer, threads);
}

}  // namespace mla_prolog
