// Stages C and D where there are fewer heads than threads: a head's columns are divided, with a barrier between the
// steps.
#include <algorithm>

#include "runtime/backend/cpu/stages.hpp"

namespace mla_prolog::cpu {

using kernels::bf16_t;

void query_columns(const Block& block, const Tile& tile) {
  std::int64_t token = 0;
  const PackedLeft cq = packed_cq(block, tile, token);
  const Layer& layer = block.run.layer;
  block.matmuls.query.multiply(uq_matrix(block.run), tile.column, tile.column + tile.columns, cq, token, tile.tokens, 0,
                               layer.hcq, false, block.shared.query + tile.token * layer.uq_columns() + tile.column,
                               layer.uq_columns(), block.own.scratch);
}

void split_heads(const Block& block, const Tile& tile) {
  const Layer& layer = block.run.layer;
  for (std::int64_t i = tile.token; i < tile.token + tile.tokens; ++i) {
    for (std::int64_t head = tile.column; head < tile.column + tile.columns; ++head) {
      split_head(block.run, block.first + i, head, block.shared.query + i * layer.uq_columns() + head * (layer.d + kDr),
                 block.shared.cq.scales + i, block.own.rows,
                 block.shared.qc + (head * block.schedule.max_block_tokens() + i) * layer.d);
    }
  }
}

void absorb_columns(const Block& block, const Tile& tile) {
  const Run& run = block.run;
  const Layer& layer = run.layer;
  const MatmulPlan& matmul = block.matmuls.absorb;
  const std::int64_t width = block.matmuls.absorb_columns;
  const std::int64_t max_tokens = block.schedule.max_block_tokens();
  const std::int64_t end = tile.column + tile.columns;
  for (std::int64_t begin = tile.column; begin < end;) {  // head by head
    const std::int64_t head = begin / kHckv;
    const std::int64_t head_end = std::min(end, (head + 1) * kHckv);
    const PackedLeft qc = matmul.pack_alone({block.shared.qc + head * max_tokens * layer.d, layer.d, nullptr},
                                            tile.token, tile.tokens, 0, layer.d, block.own.qc_left);
    for (; begin < head_end; begin = std::min(head_end, begin + width)) {
      const std::int64_t n = begin - head * kHckv;
      const std::int64_t columns = std::min(width, head_end - begin);
      matmul.multiply(uk_matrix(run, head), n, n + columns, qc, 0, tile.tokens, 0, layer.d, false, block.own.qn, width,
                      block.own.scratch);
      for (std::int64_t i = 0; i < tile.tokens; ++i) {
        const std::int64_t in_block = tile.token + i;
        bf16_t* row = layer.quantised_query() ? block.shared.qn_rounded + (head * max_tokens + in_block) * kHckv
                                              : static_cast<bf16_t*>(run.tensors.query) +
                                                    ((block.first + in_block) * layer.n + head) * kHckv;
        run.rows.round_to_bf16(block.own.qn + i * width, columns, row + n);
      }
    }
  }
}

void quantise_queries(const Block& block, const Tile& tile) {
  const std::int64_t max_tokens = block.schedule.max_block_tokens();
  for (std::int64_t i = tile.token; i < tile.token + tile.tokens; ++i) {
    for (std::int64_t head = tile.column; head < tile.column + tile.columns; ++head) {
      quantise_query(block.run, block.first + i, head, block.shared.qn_rounded + (head * max_tokens + i) * kHckv);
    }
  }
}

}  // namespace mla_prolog::cpu
