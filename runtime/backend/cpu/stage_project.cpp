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

// The columns of a tile that lie in one of the two weights, and where their results go.
struct Part {
  Matrix weight;
  std::int64_t begin, end;
  float* c;
};

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
  const std::int64_t plane = tile.k / block.schedule.grid(Stage::project, 1).k_unit;
  const std::int64_t width = projected_columns(layer);
  float* m = block.shared.m + (plane * block.schedule.max_block_tokens() + tile.token) * width;
  const std::int64_t column_end = tile.column + tile.columns;
  Part parts[2];
  std::int64_t count = 0;
  if (tile.column < layer.hcq) {
    parts[count++] = {dq, tile.column, std::min(column_end, layer.hcq), m + tile.column};
  }
  if (column_end > layer.hcq) {
    const std::int64_t begin = std::max(tile.column, layer.hcq);
    parts[count++] = {dkv, begin - layer.hcq, column_end - layer.hcq, m + begin};
  }
  const bool shared = block.schedule.has(Stage::pack_x);
  const std::int64_t k_end = tile.k + tile.ks;
  for (std::int64_t k0 = tile.k; k0 < k_end; k0 += matmul.span()) {
    const std::int64_t k1 = std::min(k_end, k0 + matmul.span());
    const PackedLeft left = shared ? PackedLeft{block.shared.x_left, block.count, 0}
                                   : matmul.pack_alone(x_rows(block), tile.token, tile.tokens, k0, k1, block.own.left);
    for (std::int64_t i = 0; i < count; ++i) {
      const Part& part = parts[i];
      const bool last = i + 1 == count;
      const Part& then = parts[last ? 0 : i + 1];
      kernels::GemmPrefetch next;
      if (!last || k1 < k_end) {
        const std::int64_t then_k1 = last ? std::min(k_end, k1 + matmul.span()) : k1;
        next = matmul.first_read(then.weight, then.begin, then.end, last ? k1 : k0, then_k1, tile.tokens);
      }
      matmul.multiply(part.weight, part.begin, part.end, left, shared ? tile.token : 0, tile.tokens, k0, k1,
                      k0 != tile.k, part.c, width, block.own.scratch, next);
    }
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
