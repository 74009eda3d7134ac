#include "runtime/problem/dims.hpp"

#include "runtime/cache/modes.hpp"
#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

std::int64_t dim(const TensorDesc& desc, int index) noexcept {
  if (index < 0 || index >= desc.rank || index >= kMaxRank) return 0;
  return desc.shape[static_cast<std::size_t>(index)];
}

std::int64_t last(const TensorDesc& desc) noexcept { return dim(desc, desc.rank - 1); }

// T = B * S: the device's product wraps at 32 bits.
std::int64_t token_count(std::int64_t b, std::int64_t s, SizeWidth width) noexcept {
  if (width == SizeWidth::bits64) return saturating_product(b, s);
  return static_cast<std::uint32_t>(b) * static_cast<std::uint32_t>(s);
}

std::int64_t difference(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? 0 : result;
}

}  // namespace

std::int64_t Dims::uq_columns() const noexcept { return saturating_product(n, saturating_sum(d, dr)); }

Dims derive_dims(const TensorDescs& tensors, std::optional<CacheMode> cache_mode, SizeWidth width) noexcept {
  Dims dims;

  const TensorDesc& x = tensors.token_x;
  dims.batched = x.rank == 3;
  dims.he = last(x);
  if (dims.batched) {
    dims.b = dim(x, 0);
    dims.s = dim(x, 1);
    dims.t = token_count(dims.b, dims.s, width);
  } else {
    dims.t = dim(x, 0);
    if (cache_mode && is_block_table(*cache_mode)) dims.b = dim(tensors.actual_seq_len, 0);
  }

  const TensorDesc& w_dq = tensors.weight_dq;
  dims.hcq = w_dq.rank == 4 ? saturating_product(dim(w_dq, 0), nz_width(w_dq.dtype)) : dim(w_dq, 1);
  dims.n = dim(tensors.weight_uk, 0);
  dims.d = dim(tensors.weight_uk, 1);
  dims.dr = last(tensors.rope_cos);

  const TensorDesc& w_dkv = tensors.weight_dkv_kr;
  const std::int64_t latent_and_rope =
      w_dkv.rank == 4 ? saturating_product(dim(w_dkv, 0), dim(w_dkv, 3)) : dim(w_dkv, 1);
  dims.hckv = difference(latent_and_rope, dims.dr);

  const TensorDesc& kv = tensors.kv_cache;
  dims.block_num = dim(kv, 0);
  if (kv.rank == 4) dims.block_size = dim(kv, 1);
  dims.nkv = dim(kv, kv.rank - 2);
  dims.dtile = last(kv);
  return dims;
}

}  // namespace mla_prolog
