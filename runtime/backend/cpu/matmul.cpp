#include "runtime/backend/cpu/matmul.hpp"

#include <algorithm>

namespace mla_prolog::cpu {
namespace {

using kernels::GemmArgs;
using kernels::GemmPrefetch;
using kernels::GemmType;
using kernels::kGemmChunk;
using kernels::kPanelBytes;

// Of the packed left operand, while weights stream past it.
constexpr std::int64_t kSpanBytes = 192 * 1024;
// k of one int8 call in the packed path: a panel of 64 columns then takes 96 KiB.
constexpr std::int64_t kIntChunk = 1536;
// How far ahead of their use weights are fetched, about: as much as a head of W_UK has, so that the streams of both
// matmuls of a head go on evenly while one is limited by arithmetic and the other by memory.
constexpr std::int64_t kBytesAhead = 128 * 1024;

// Part `i` of `count` of what is to be fetched.
GemmPrefetch share_of_rows(const GemmPrefetch& all, std::int64_t i, std::int64_t count) {
  GemmPrefetch share = all;
  const std::int64_t begin = all.rows * i / count;
  share.rows = all.rows * (i + 1) / count - begin;
  if (all.data != nullptr) share.data += begin * all.row_stride;
  return share;
}

}  // namespace

GemmType gemm_type(Operand operand) {
  switch (operand) {
    case Operand::bf16:
      return GemmType::bf16;
    case Operand::int8:
      return GemmType::int8;
    case Operand::mx:
      return GemmType::mx;
    case Operand::e4m3:
      return GemmType::e4m3;
    case Operand::hif8:
      return GemmType::hif8;
  }
  return GemmType::bf16;
}

double weight_bytes(Operand operand) {
  if (operand == Operand::bf16) return 2.0;
  return operand == Operand::mx ? 1.0 + 1.0 / static_cast<double>(kMxBlock) : 1.0;
}

MatmulPlan::MatmulPlan(const kernels::GemmKernels& kernels, Operand operand, std::int64_t max_tokens,
                       std::int64_t max_k, std::int64_t max_chunk)
    : functions_(&kernels[gemm_type(operand)]), type_(gemm_type(operand)), max_tokens_(max_tokens), max_k_(max_k) {
  packed_ = max_tokens >= functions_->packed_from;
  panel_columns_ = operand == Operand::bf16 ? 16 : 32;
  if (packed_) {
    group_ = functions_->packed_group;
  } else {  // groups of about equal size
    const std::int64_t groups = (max_tokens + functions_->in_place_group - 1) / functions_->in_place_group;
    group_ = std::max<std::int64_t>(1, (max_tokens + groups - 1) / std::max<std::int64_t>(1, groups));
  }
  chunk_ = std::min(type_ == GemmType::int8 ? kIntChunk : kGemmChunk, max_k);
  if (max_chunk > 0) chunk_ = std::min(chunk_, max_chunk);
  const auto chunk_bytes =
      static_cast<std::int64_t>(functions_->x_bytes(std::max<std::int64_t>(1, max_tokens), chunk_));
  span_ = std::min(round_up(max_k, chunk_), std::max<std::int64_t>(1, kSpanBytes / chunk_bytes) * chunk_);
}

std::size_t MatmulPlan::native_bytes(std::int64_t k) const {
  std::size_t total = 0;
  for (std::int64_t k0 = 0; k0 < k; k0 += chunk_) total += functions_->x_bytes(max_tokens_, std::min(chunk_, k - k0));
  return total;
}

void MatmulPlan::pack(const LeftRows& rows, std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
                      const PackedLeft& to) const {
  const std::int64_t element_bytes = type_ == GemmType::bf16 ? 2 : 1;
  const std::int64_t scale_stride = max_k_ / kMxBlock;
  for (std::int64_t k = k0; k < k1; k += chunk_) {
    const std::int64_t count = std::min(chunk_, k1 - k);
    const auto* codes = static_cast<const std::byte*>(rows.codes) + (token * rows.stride + k) * element_bytes;
    functions_->pack_x({.rows = codes,
                        .row_stride = rows.stride,
                        .scales = rows.scales == nullptr ? nullptr : rows.scales + token * scale_stride + k / kMxBlock,
                        .scale_stride = scale_stride,
                        .tokens = tokens,
                        .k = count,
                        .group = group_,
                        .packed = at(to, token, k, count),
                        .in_place = !packed_});
  }
}

PackedLeft MatmulPlan::pack_alone(const LeftRows& rows, std::int64_t token, std::int64_t tokens, std::int64_t k0,
                                  std::int64_t k1, std::byte* packed) const {
  const std::int64_t element_bytes = type_ == GemmType::bf16 ? 2 : 1;
  LeftRows alone = rows;
  alone.codes = static_cast<const std::byte*>(rows.codes) + token * rows.stride * element_bytes;
  if (rows.scales != nullptr) alone.scales += token * (max_k_ / kMxBlock);
  if (engine_ != nullptr) return defer(alone, tokens, k0, k1, packed);
  const PackedLeft left{packed, tokens, k0};
  pack(alone, 0, tokens, k0, k1, left);
  return left;
}

// The chunk of `count` k that begins at k, of the groups from `token` on. Chunks before it are whole.
std::byte* MatmulPlan::at(const PackedLeft& left, std::int64_t token, std::int64_t k, std::int64_t count) const {
  const auto chunks = static_cast<std::size_t>((k - left.first_k) / chunk_);
  return left.data + chunks * functions_->x_bytes(left.tokens, chunk_) + functions_->x_bytes(token, count);
}

MatmulPlan::Walk MatmulPlan::walk(const Matrix& matrix, std::int64_t n0, std::int64_t n1, std::int64_t k0,
                                  std::int64_t k1, std::int64_t tokens) const {
  Walk walk{.n0 = n0, .k0 = k0};
  walk.chunks = (k1 - k0 + chunk_ - 1) / chunk_;
  if (packed_) {  // a call goes through all columns, and fetches its own
    walk.step = n1 - n0;
    walk.first_columns = std::min(n1 - n0, functions_->packed_columns);
    return walk;
  }
  // Columns of a row-major matrix lie side by side: all at once, so that memory is read in its order.
  const bool row_major = matrix.row_stride != kPanelBytes;
  walk.step = row_major ? n1 - n0 : std::min(n1 - n0, functions_->in_place_columns(std::min(group_, tokens)));
  walk.first_columns = walk.step;
  const std::int64_t call_bytes = walk.step / panel_columns_ * kPanelBytes * std::min(chunk_, k1 - k0);
  const std::int64_t ahead = std::max<std::int64_t>(1, (kBytesAhead + call_bytes / 2) / call_bytes);
  walk.ahead = ahead <= walk.chunks ? ahead : ahead / walk.chunks * walk.chunks;
  return walk;
}

GemmPrefetch MatmulPlan::weights_of(const Matrix& matrix, std::int64_t n, std::int64_t columns, std::int64_t k,
                                    std::int64_t rows) const {
  return {matrix.data + n / panel_columns_ * matrix.panel_stride + k * matrix.row_stride, matrix.panel_stride,
          matrix.row_stride, columns / panel_columns_, rows};
}

GemmPrefetch MatmulPlan::first_read(const Matrix& matrix, std::int64_t n0, std::int64_t n1, std::int64_t k0,
                                    std::int64_t k1, std::int64_t tokens) const {
  const Walk way = walk(matrix, n0, n1, k0, k1, tokens);
  const std::int64_t steps = std::max<std::int64_t>(1, way.ahead / way.chunks);
  return weights_of(matrix, n0, std::min(n1 - n0, steps * way.first_columns), k0,
                    std::min(k1 - k0, way.ahead * chunk_));
}

void MatmulPlan::multiply_native(const Matrix& matrix, std::int64_t n0, std::int64_t n1, const PackedLeft& left,
                                 std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
                                 bool accumulate, void* c, std::int64_t ldc, void* scratch,
                                 const GemmPrefetch& next) const {
  if (n0 >= n1 || k0 >= k1) return;
  // In place, a run of columns is streamed over all chunks before the next begins; decoded panels are used up chunk by
  // chunk.
  const Walk way = walk(matrix, n0, n1, k0, k1, tokens);
  const std::int64_t calls = (n1 - n0 + way.step - 1) / way.step * way.chunks;
  for (std::int64_t call = 0; call < calls; ++call) {
    const std::int64_t n = way.column(call);
    const std::int64_t k = way.row(call, chunk_);
    const std::int64_t columns = std::min(way.step, n1 - n);
    const std::int64_t count = std::min(chunk_, k1 - k);
    GemmArgs args{.weight = weights_of(matrix, n, columns, k, count).data,
                  .panel_stride = matrix.panel_stride,
                  .row_stride = matrix.row_stride,
                  .weight_scales = nullptr,
                  .weight_scale_stride = matrix.k / kMxBlock,
                  .columns = columns,
                  .k = count,
                  .x = at(left, token, k, count),
                  .tokens = tokens,
                  .group = group_,
                  .c = static_cast<std::uint32_t*>(c) + (n - n0),
                  .ldc = ldc,
                  .accumulate = accumulate || k != k0,
                  .scratch = scratch};
    if (matrix.scales != nullptr) args.weight_scales = matrix.scales + n * (matrix.k / kMxBlock) + k / kMxBlock;
    const std::int64_t later = call + way.ahead;
    if (later < calls) {
      const std::int64_t later_n = way.column(later);
      const std::int64_t later_k = way.row(later, chunk_);
      args.next = weights_of(matrix, later_n, std::min(way.first_columns, n1 - later_n), later_k,
                             std::min(chunk_, k1 - later_k));
    } else {  // a share of what the caller says
      args.next = share_of_rows(next, later - calls, std::min(way.ahead, calls));
    }
    (packed_ ? functions_->packed : functions_->in_place)(args);
  }
}

}  // namespace mla_prolog::cpu
