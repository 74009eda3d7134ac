// The steps between the matmuls, one token at a time, on a table of row kernels (numerics.md section 4).
#pragma once

#include <cstdint>

#include "kernels/row_kernels.hpp"
#include "mla_prolog/tensor.hpp"
#include "runtime/backend/onednn/stages.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::cpu {

// What the row steps need of a run.
struct Run {
  const Layer& layer;
  const Tensors& tensors;
  const kernels::RowKernels& rows;
  const std::int64_t* slot;  // null when no cache is written
  // What oneDNN multiplies, where weights are prepared for it.
  const onednn::PreparedMatrices* prepared = nullptr;
  const onednn::Stages* engines = nullptr;
};

// Room for one token's rows.
struct RowScratch {
  float* projected;         // dequantised matmul results
  float* normed;            // RmsNorm results, widened k^R
  kernels::bf16_t* row;     // one bf16 row
  std::uint8_t* cache_row;  // one kv_cache row
};
std::int64_t row_scratch_width(const Layer& layer);

// c^Q of a block of tokens as the left operand of weight_uq_qr.
struct CompressedQuery {
  std::uint8_t* codes = nullptr;      // [tokens][Hcq] bf16 or 8-bit
  float* scales = nullptr;            // [tokens], unless bf16 or MX
  std::uint8_t* mx_scales = nullptr;  // [tokens][Hcq / 32], MX
};

constexpr std::int64_t code_bytes(Operand operand) { return operand == Operand::bf16 ? 2 : 1; }

// Matmul results m of token t, columns [n, n + count) of a weight, as the next step sees them.
void finish_projection(const Run& run, Operand operand, const void* m, std::int64_t n, std::int64_t count,
                       const float* token_scale, const void* channel_scales, kernels::bf16_t* row, float* out);

// m: token t's results of weight_dq; writes row i of `cq` and, where asked for, query_norm.
void compress_query(const Run& run, std::int64_t t, const void* m, const RowScratch& scratch, std::int64_t i,
                    const CompressedQuery& cq);

// m: token t's results of weight_dkv_kr; writes the caches.
void store_latent(const Run& run, std::int64_t t, const void* m, const RowScratch& scratch);

// m: token t's results of head h's columns of weight_uq_qr. Writes q^C (D bf16) and query_rope.
void split_head(const Run& run, std::int64_t t, std::int64_t h, const void* m, const float* cq_scale,
                const RowScratch& scratch, kernels::bf16_t* qc);

// q^N of token t and head h, bf16 rounded: quantises it and scales query_rope (per-tensor caches).
void quantise_query(const Run& run, std::int64_t t, std::int64_t h, const kernels::bf16_t* qn);

}  // namespace mla_prolog::cpu
