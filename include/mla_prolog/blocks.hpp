// The operator's building blocks, each usable alone. Dense tensors only, their data at a whole element; outputs must
// not overlap inputs (except where said). Shapes are [rows, width]; leading dimensions may be several, they are
// flattened. Nothing is written on error. Unlike `run` they may allocate a row of scratch.
#pragma once

#include <cstdint>
#include <span>

#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

/// y = v / sqrt(mean(v^2) + epsilon) * gamma * scale, summed in 64 lanes and a pairwise tree (numerics.md 2.4).
/// @param v      [rows, n] float32 or bf16, n a multiple of 64
/// @param gamma  [n] bf16
/// @param scale  multiplied in last, unless within FLT_EPSILON of 1
/// @param y      [rows, n] float32 or bf16 (rounded to nearest even); may be v itself when dtypes agree
MLA_PROLOG_API Status rms_norm(const ConstTensorView& v, const ConstTensorView& gamma, float epsilon, float scale,
                               const TensorView& y) noexcept;

/// Rotary embedding, interleaved input pairs to half-split output (numerics.md 7).
/// @param x    [tokens, heads, 64] or [tokens, 64], float32 or bf16
/// @param sin  [tokens, 64] bf16, shared by all heads; cos the same
/// @param y    as x, bf16
MLA_PROLOG_API Status rope(const ConstTensorView& x, const ConstTensorView& sin, const ConstTensorView& cos,
                           const TensorView& y) noexcept;

/// How a model makes its rotary tables. The YaRN fields are those of Hugging Face's `rope_scaling`.
struct RopeTableConfig {
  double theta = 10000.0;
  bool yarn = false;
  double factor = 1.0;
  double original_max_position_embeddings = 4096.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double mscale = 1.0;
  double mscale_all_dim = 0.0;
};

/// cos and sin of position * inv_freq times mscale, computed in float32 as DeepSeek's model code does, rounded once to
/// bf16, in the operator's layout: entries i and i + 32 belong to frequency i.
/// @param sin  [positions.size(), 64] bf16; cos the same
MLA_PROLOG_API Status make_rope_tables(const RopeTableConfig& config, std::span<const std::int64_t> positions,
                                       const TensorView& sin, const TensorView& cos) noexcept;

/// Per-row dynamic quantisation (numerics.md 5.2; for int8 profile a2 divides by 127 and multiplies by 127/amax,
/// profile ascend950 multiplies by 1/127 and divides by the scale).
/// @param x       [rows, n] float32 or bf16
/// @param smooth  [n] or [1, n] float32, multiplied in first; absent: none
/// @param codes   [rows, n] int8, float8_e4m3fn or hifloat8
/// @param scale   [rows] or [rows, 1] float32
MLA_PROLOG_API Status quantize_per_token(const ConstTensorView& x, const ConstTensorView& smooth, Profile profile,
                                         const TensorView& codes, const TensorView& scale) noexcept;

/// MX quantisation: blocks of 32 share one E8M0 scale (numerics.md 5.3).
/// @param x       [rows, n] bf16, or float32 (rounded to bf16 with ties away from zero first), n a multiple of 32
/// @param codes   [rows, n] float8_e4m3fn
/// @param scale   [rows, n/32] float8_e8m0
MLA_PROLOG_API Status quantize_mx(const ConstTensorView& x, const TensorView& codes, const TensorView& scale) noexcept;

/// Per-tile quantisation of latent KV rows, four tiles of 128 (numerics.md 8.4).
/// @param c      [rows, 512] float32
/// @param alpha  clip factor of the int8 flavour; ignored by the others
/// @param codes  [rows, 512] int8 (alpha clip), float8_e4m3fn or hifloat8 (floor 1e-4)
/// @param scale  [rows, 4] float32
MLA_PROLOG_API Status quantize_per_tile(const ConstTensorView& c, float alpha, const TensorView& codes,
                                        const TensorView& scale) noexcept;

/// Weight quantisation per output column: scale = amax/MAX (127, 448, 32768), codes = w/scale rounded to nearest even
/// (hif8: its own rounding), saturating.
/// @param w      [K, N] float32 or bf16
/// @param codes  [K, N] int8, float8_e4m3fn or hifloat8
/// @param scale  [1, N] float32
MLA_PROLOG_API Status quantize_weight(const ConstTensorView& w, const TensorView& codes,
                                      const TensorView& scale) noexcept;

/// MX weight quantisation: blocks of 32 along K (numerics.md 5.3 after rounding to bf16, nearest even).
/// @param w      [K, N] float32 or bf16, K a multiple of 32
/// @param codes  [K, N] float8_e4m3fn
/// @param scale  [N, K/32] float8_e8m0
MLA_PROLOG_API Status quantize_weight_mx(const ConstTensorView& w, const TensorView& codes,
                                         const TensorView& scale) noexcept;

/// Where tokens go in a cache.
struct CacheAddressing {
  CacheMode mode = CacheMode::pa_bsnd;
  std::int64_t tokens = 0;         ///< T
  std::int64_t seq = 0;            ///< S of 3-D tokens (PA_BLK_* and BSND); 0: 2-D tokens
  ConstTensorView cache_index;     ///< int64; slots or block table; absent for BSND, TND
  ConstTensorView actual_seq_len;  ///< int32 prefix sums; 2-D tokens with PA_BLK_* only
};

/// Writes rows into a cache (numerics.md 9): negative indices skip, of duplicates the highest token wins, an index out
/// of range refuses the whole call.
/// @param rows   [tokens, W], W a multiple of 32 bytes' worth of elements
/// @param cache  [BlockNum, BlockSize, 1, W] (paged), [B, S, 1, W] or [T, 1, W]; dense but for its first dimension's
///               stride; same dtype as rows
/// @param scratch  at least `cache_scatter_scratch_bytes(tokens)` bytes, 8-byte aligned
MLA_PROLOG_API Status cache_scatter(const ConstTensorView& rows, const CacheAddressing& addressing,
                                    const TensorView& cache, void* scratch, std::size_t scratch_bytes) noexcept;
MLA_PROLOG_API std::size_t cache_scatter_scratch_bytes(std::int64_t tokens) noexcept;

}  // namespace mla_prolog
