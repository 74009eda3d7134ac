// Stages A and B.
#include <algorithm>

#include "runtime/backend/cpu/stages.hpp"

namespace mla_prolog::cpu {
namespace {

LeftRows x_rows(const Block& block) {
  const Layer& layer = block.run.layer;
  const Tensors& tensors = block.run.tensors;
  LeftRows rows;
  rows.codes =
      static_cast<const std::byte*>(tensors.token_x) + block.first * layer.token_x_stride * code_bytes(layer.x_operand);
  rows.stride = layer.token_x_stride;
  if (layer.x_operand == Operand::mx) {
    rows.scales = static_cast<const std::uint8_t*>(tensors.dequant_scale_x) + block.first * (layer.he / kMxBlock);
  }
  return rows;
}

// One weight's part of a tile: columns [begin, end) of it, the results to `c`.
void project_weight(const Block& block, const Tile& tile, const Matrix& weight, std::int64_t begin, std::int64_t end,
                    const PackedLeft& left, std::int64_t token, std::int64_t k0, std::int64_t k1, float* c) {
  if (begin >= end) return;
  block.matmuls.project.multiply(weight, begin, end, left, token, tile.tokens, k0, k1, k0 != tile.k, c,
                                 projected_columns(block.run.layer), block.own.scratch);
}

// The chunks' sums, added in ascending order, in the place of the first.
template <typename T>
void add_planes(T* sum, std::int64_t stride, std::int64_t planes, std::int64_t count) {
  for (std::int64_t p = 1; p < planes; ++p) {
    const T* plane = sum + p * stride;
    for (std::int64_t j = 0; j < count; ++j) sum[j] += plane[j];
  }
}

}  // namespace

void pack_x(const Block& block, const Tile& tile) {
  block.matmuls.project.pack(x_rows(block), tile.token, tile.tokens, tile.k, tile.k + tile.ks,
                             {block.shared.x_left, block.count, 0});
}

void project(const Block& block, const Tile& tile) {
  const Layer& layer = block.run.layer;
  const Tensors& tensors = block.run.tensors;
  const MatmulPlan& matmul = block.matmuls.project;
  const bool mx = layer.x_operand == Operand::mx;
  Matrix dq = Matrix::nz(tensors.weight_dq, layer.he, mx ? tensors.dequant_scale_w_dq : nullptr);
  Matrix dkv = Matrix::nz(tensors.weight_dkv_kr, layer.he, mx ? tensors.dequant_scale_w_dkv_kr : nullptr);
  if (block.run.prepared != nullptr) {
    dq.prepared = block.run.prepared->weight_dq;
    dkv.prepared = block.run.prepared->weight_dkv_kr;
  }
  const bool shared = block.schedule.has(Stage::pack_x);
  const std::int64_t plane = tile.k / block.schedule.grid(Stage::project, 1).k_unit;
  const std::int64_t end = tile.column + tile.columns;
  const std::int64_t dkv_begin = std::max(tile.column, layer.hcq);
  float* m = block.shared.m + (plane * block.schedule.max_block_tokens() + tile.token) * projected_columns(layer);
  const std::int64_t tile_end = tile.k + tile.ks;
  for (std::int64_t k0 = tile.k; k0 < tile_end; k0 += matmul.span()) {
    const std::int64_t k1 = std::min(tile_end, k0 + matmul.span());
    const PackedLeft left = shared ? PackedLeft{block.shared.x_left, block.count, 0}
                                   : matmul.pack_alone(x_rows(block), tile.token, tile.tokens, k0, k1, block.own.left);
    const std::int64_t token = shared ? tile.token : 0;
    project_weight(block, tile, dq, tile.column, std::min(end, layer.hcq), left, token, k0, k1, m + tile.column);
    project_weight(block, tile, dkv, dkv_begin - layer.hcq, end - layer.hcq, left, token, k0, k1, m + dkv_begin);
  }
}

void finish_rows(const Block& block, const Tile& tile) {
  const Run& run = block.run;
  const Layer& layer = run.layer;
  const std::int64_t rows_per_token = block.schedule.grid(Stage::rows, 1).tokens;
  const std::int64_t width = projected_columns(layer);
  for (std::int64_t row = tile.token; row < tile.token + tile.tokens; ++row) {
    const std::int64_t i = row / rows_per_token;
    const std::int64_t t = block.first + i;
    const bool query = row % rows_per_token == 0;
    if (!query && run.slot[t] < 0) continue;
    float* m = block.shared.m + i * width + (query ? 0 : layer.hcq);
    const std::int64_t count = query ? layer.hcq : kDkvColumns;
    const std::int64_t stride = block.schedule.max_block_tokens() * width;
    if (layer.x_operand == Operand::int8) {
      add_planes(reinterpret_cast<std::int32_t*>(m), stride, block.schedule.planes(), count);
    } else {
      add_planes(m, stride, block.schedule.planes(), count);
    }
    if (query) {
      compress_query(run, t, m, block.own.rows, i, block.shared.cq);
    } else {
      store_latent(run, t, m, block.own.rows);
    }
  }
}

}  // namespace mla_prolog::cpu
