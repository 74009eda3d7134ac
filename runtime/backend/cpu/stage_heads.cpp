// Stages C and D, head by head: the results of a head never leave the thread's cache.
#include "runtime/backend/cpu/stages.hpp"

namespace mla_prolog::cpu {
namespace {

using kernels::bf16_t;
using kernels::GemmPrefetch;

// The panels of weight_uq_qr that hold a head's columns; a head need not begin on a panel boundary.
struct HeadPanels {
  std::int64_t begin, end;

  HeadPanels(const Block& block, std::int64_t head) {
    const std::int64_t columns = block.run.layer.d + kDr;
    const std::int64_t panel = block.matmuls.query.panel_columns();
    begin = head * columns / panel * panel;
    end = ((head + 1) * columns + panel - 1) / panel * panel;
  }
};

LeftRows cq_rows(const Block& block) {
  const Layer& layer = block.run.layer;
  return {block.shared.cq.codes, layer.hcq, layer.cq_operand == Operand::mx ? block.shared.cq.mx_scales : nullptr};
}

// C: q^C to own.qc, query_rope to its place.
void project_head(const Block& block, const Tile& tile, const PackedLeft& cq, std::int64_t token, std::int64_t head) {
  const Layer& layer = block.run.layer;
  const ThreadSpace& own = block.own;
  const HeadPanels panels(block, head);
  const std::int64_t width = panels.end - panels.begin;
  block.matmuls.query.multiply(
      uq_matrix(block.run), panels.begin, panels.end, cq, token, tile.tokens, 0, layer.hcq, false, own.head, width,
      own.scratch, block.matmuls.absorb.first_read(uk_matrix(block.run, head), 0, kHckv, 0, layer.d, tile.tokens));
  for (std::int64_t i = 0; i < tile.tokens; ++i) {
    const float* m = own.head + i * width + (head * (layer.d + kDr) - panels.begin);
    const std::int64_t in_block = tile.token + i;
    split_head(block.run, block.first + in_block, head, m, block.shared.cq.scales + in_block, own.rows,
               own.qc + i * layer.d);
  }
}

// D: q^C in own.qc to query. `next` is what comes after.
void absorb_head(const Block& block, const Tile& tile, std::int64_t head, const GemmPrefetch& next) {
  const Run& run = block.run;
  const Layer& layer = run.layer;
  const ThreadSpace& own = block.own;
  const MatmulPlan& matmul = block.matmuls.absorb;
  const Matrix uk = uk_matrix(run, head);
  const std::int64_t columns = block.matmuls.absorb_columns;
  const std::int64_t first = block.first + tile.token;
  const PackedLeft qc = matmul.pack_alone({own.qc, layer.d, nullptr}, 0, tile.tokens, 0, layer.d, own.qc_left);
  for (std::int64_t n = 0; n < kHckv; n += columns) {
    const bool last = n + columns >= kHckv;
    matmul.multiply(uk, n, n + columns, qc, 0, tile.tokens, 0, layer.d, false, own.qn, columns, own.scratch,
                    last ? next : matmul.first_read(uk, n + columns, kHckv, 0, layer.d, tile.tokens));
    for (std::int64_t i = 0; i < tile.tokens; ++i) {
      bf16_t* row = layer.quantised_query()
                        ? own.qn_rounded + i * kHckv
                        : static_cast<bf16_t*>(run.tensors.query) + ((first + i) * layer.n + head) * kHckv;
      run.rows.round_to_bf16(own.qn + i * columns, columns, row + n);
    }
  }
  if (!layer.quantised_query()) return;
  for (std::int64_t i = 0; i < tile.tokens; ++i) quantise_query(run, first + i, head, own.qn_rounded + i * kHckv);
}

}  // namespace

Matrix uq_matrix(const Run& run) {
  const bool mx = run.layer.cq_operand == Operand::mx;
  Matrix matrix = Matrix::nz(run.tensors.weight_uq_qr, run.layer.hcq, mx ? run.tensors.dequant_scale_w_uq_qr : nullptr);
  if (run.prepared != nullptr) matrix.prepared = run.prepared->weight_uq_qr;
  return matrix;
}

Matrix uk_matrix(const Run& run, std::int64_t head) {
  Matrix matrix = Matrix::row_major(static_cast<const bf16_t*>(run.tensors.weight_uk) + head * run.layer.d * kHckv,
                                    run.layer.d, kHckv);
  if (run.prepared != nullptr) matrix.prepared = run.engines->block_of_head(run.prepared->weight_uk, head);
  return matrix;
}

PackedLeft packed_cq(const Block& block, const Tile& tile, std::int64_t& token) {
  if (block.schedule.has(Stage::pack_cq)) {
    token = tile.token;
    return {block.shared.cq_left, block.count, 0};
  }
  token = 0;
  return block.matmuls.query.pack_alone(cq_rows(block), tile.token, tile.tokens, 0, block.run.layer.hcq,
                                        block.own.left);
}

void pack_cq(const Block& block, const Tile& tile) {
  block.matmuls.query.pack(cq_rows(block), tile.token, tile.tokens, tile.k, tile.k + tile.ks,
                           {block.shared.cq_left, block.count, 0});
}

void query_heads(const Block& block, const Tile& tile) {
  std::int64_t token = 0;
  const PackedLeft cq = packed_cq(block, tile, token);
  const std::int64_t end = tile.column + tile.columns;
  for (std::int64_t head = tile.column; head < end; ++head) {
    project_head(block, tile, cq, token, head);
    GemmPrefetch next;
    if (head + 1 < end) {
      const HeadPanels panels(block, head + 1);
      next = block.matmuls.query.first_read(uq_matrix(block.run), panels.begin, panels.end, 0, block.run.layer.hcq,
                                            tile.tokens);
    }
    absorb_head(block, tile, head, next);
  }
}

}  // namespace mla_prolog::cpu
