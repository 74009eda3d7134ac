// Tensor descriptions, views, and the operator's tensors by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mla_prolog/export.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

inline constexpr int kMaxRank = 8;

/// Data type, format, shape and strides of a tensor; no data. A default-constructed one is absent (a null
/// pointer in CANN's interface), which differs from a present tensor with zero elements.
struct MLA_PROLOG_API TensorDesc {
  DType dtype = DType::undefined;
  Format format = Format::nd;
  std::int32_t rank = -1;                        ///< -1: absent
  std::array<std::int64_t, kMaxRank> shape{};    ///< view dimensions
  std::array<std::int64_t, kMaxRank> strides{};  ///< in elements, per dimension; row-major when dense

  /// A dense row-major tensor. Of more than `kMaxRank` dimensions only the count is kept; every rule refuses it.
  static TensorDesc dense(DType dtype, std::span<const std::int64_t> shape, Format format = Format::nd);
  static TensorDesc dense(DType dtype, std::initializer_list<std::int64_t> shape, Format format = Format::nd);
  /// A logical (k, n) weight in FRACTAL_NZ, described by its 4-D storage shape (n/w0, k/16, 16, w0).
  static TensorDesc nz(DType dtype, std::int64_t k, std::int64_t n);

  bool present() const noexcept { return rank >= 0; }
  bool has_zero_elements() const noexcept;  ///< present, and some dimension is 0
  bool is_dense() const noexcept;           ///< strides are row-major (dimensions of size 1 do not matter)
  /// Product of the dimensions; 0 when absent, INT64_MAX when it does not fit.
  std::int64_t numel() const noexcept;
  /// Bytes from the first to past the last element; 0 when empty, SIZE_MAX when it does not fit.
  std::size_t extent_bytes() const noexcept;
  /// "BF16 FRACTAL_NZ [96, 448, 16, 16]", or "null".
  std::string to_string() const;

  bool operator==(const TensorDesc&) const = default;
};

struct ConstTensorView {
  TensorDesc desc;
  const void* data = nullptr;
};

struct TensorView {
  TensorDesc desc;
  void* data = nullptr;
  operator ConstTensorView() const { return {desc, data}; }  // NOLINT(google-explicit-constructor)
};

/// The operator's tensors in the order of its C interface.
enum class TensorId : std::uint8_t {
  token_x,
  weight_dq,
  weight_uq_qr,
  weight_uk,
  weight_dkv_kr,
  rmsnorm_gamma_cq,
  rmsnorm_gamma_ckv,
  rope_sin,
  rope_cos,
  kv_cache,
  kr_cache,
  cache_index,
  dequant_scale_x,
  dequant_scale_w_dq,
  dequant_scale_w_uq_qr,
  dequant_scale_w_dkv_kr,
  quant_scale_ckv,
  quant_scale_ckr,
  smooth_scales_cq,
  actual_seq_len,
  k_nope_clip_alpha,
  query,
  query_rope,
  dequant_scale_q_nope,
  query_norm,
  dequant_scale_q_norm,
  none,
};

inline constexpr std::size_t kTensorCount = static_cast<std::size_t>(TensorId::none);

/// The snake_case name ("token_x"); "none" for `none`.
MLA_PROLOG_API std::string_view to_string(TensorId id) noexcept;
template <>
MLA_PROLOG_API std::optional<TensorId> parse<TensorId>(std::string_view name) noexcept;

constexpr bool is_output(TensorId id) noexcept { return id >= TensorId::query && id < TensorId::none; }
constexpr bool is_cache(TensorId id) noexcept { return id == TensorId::kv_cache || id == TensorId::kr_cache; }

/// All tensor ids, in order, for range-for.
constexpr std::array<TensorId, kTensorCount> all_tensors() noexcept {
  std::array<TensorId, kTensorCount> ids{};
  for (std::size_t i = 0; i < kTensorCount; ++i) ids[i] = static_cast<TensorId>(i);
  return ids;
}

/// One `In`, `InOut` or `Out` for each tensor, by name and by id.
template <typename In, typename InOut = In, typename Out = InOut>
struct TensorSet {
  In token_x{};                ///< [T, He] or [B, S, He]
  In weight_dq{};              ///< (He, Hcq), FRACTAL_NZ
  In weight_uq_qr{};           ///< (Hcq, N*(D+64)), FRACTAL_NZ; head-major, D nope columns then 64 rope columns
  In weight_uk{};              ///< [N, D, 512] bf16, ND
  In weight_dkv_kr{};          ///< (He, 576), FRACTAL_NZ; 512 latent columns then 64 rope columns
  In rmsnorm_gamma_cq{};       ///< [Hcq] bf16
  In rmsnorm_gamma_ckv{};      ///< [512] bf16
  In rope_sin{};               ///< [T, 64] or [B, S, 64] bf16
  In rope_cos{};               ///< as rope_sin
  InOut kv_cache{};            ///< [BlockNum, BlockSize, 1, Dtile], [B, S, 1, Dtile] or [T, 1, Dtile]; Dtile 512 or 656
  InOut kr_cache{};            ///< the same with 64; zero elements when the cache is per-tile
  In cache_index{};            ///< int64 slots [T] or [B, S]; block tables for PA_BLK_*; absent for BSND, TND
  In dequant_scale_x{};        ///< float32 [T, 1]; E8M0 [T, He/32] in mode 3
  In dequant_scale_w_dq{};     ///< float32 [1, Hcq]; E8M0 [Hcq, He/32]
  In dequant_scale_w_uq_qr{};  ///< float32 [1, N*(D+64)]; E8M0 [N*(D+64), Hcq/32]
  In dequant_scale_w_dkv_kr{};  ///< float32 [1, 576]; E8M0 [576, He/32]
  In quant_scale_ckv{};         ///< float32 [1] per-tensor, [1, 512] per-channel
  In quant_scale_ckr{};         ///< float32 [1, 64], per-channel only
  In smooth_scales_cq{};        ///< float32 [1, Hcq], optional in modes 1, 2, 4, 5
  In actual_seq_len{};          ///< int32 [B] inclusive prefix sums, 2-D tokens with PA_BLK_* only
  In k_nope_clip_alpha{};       ///< float32 [1], per-tile in modes 1, 2
  Out query{};                  ///< [T, N, 512] or [B, S, N, 512]
  Out query_rope{};             ///< [T, N, 64] or [B, S, N, 64] bf16
  Out dequant_scale_q_nope{};   ///< float32 [T, N, 1], kv_cache_quant_mode 1 only
  Out query_norm{};             ///< [T, Hcq] or [B, S, Hcq], on request
  Out dequant_scale_q_norm{};   ///< float32 [T, 1] or E8M0 [T, Hcq/32], with query_norm unless mode 0
};

/// Descriptions of all tensors.
struct MLA_PROLOG_API TensorDescs : TensorSet<TensorDesc> {
  TensorDesc& operator[](TensorId id) noexcept;
  const TensorDesc& operator[](TensorId id) const noexcept;
};

/// Data pointers of all tensors, as `run` takes them. Null where the tensor is absent or empty.
struct MLA_PROLOG_API Tensors : TensorSet<const void*, void*, void*> {
  /// The pointer of any tensor. For outputs and caches the object is writable.
  const void* get(TensorId id) const noexcept;
  /// Sets any tensor's pointer; outputs and caches will be written through it.
  void set(TensorId id, void* data) noexcept;
};

}  // namespace mla_prolog
