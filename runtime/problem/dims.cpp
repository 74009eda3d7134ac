#include "runtime/problem/dims.hpp"

#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

// Sizes of one width. The narrow kind computes as uint32_t does.
class Sizes {
 public:
  explicit Sizes(SizeWidth width) noexcept : narrow_(width == SizeWidth::bits32) {}

  std::int64_t dim(const TensorDesc& desc, int index) const noexcept {
    if (index < 0 || index >= desc.rank || index >= kMaxRank) return 0;
    return fit(desc.shape[static_cast<std::size_t>(index)]);
  }
  std::int64_t last(const TensorDesc& desc) const noexcept { return dim(desc, desc.rank - 1); }
  std::int64_t product(std::int64_t a, std::int64_t b) const noexcept {
    if (!narrow_) return saturating_product(a, b);
    return fit(static_cast<std::int64_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b)));
  }
  std::int64_t difference(std::int64_t a, std::int64_t b) const noexcept {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a, b, &difference)) return 0;
    return fit(difference);
  }

 private:
  std::int64_t fit(std::int64_t size) const noexcept { return narrow_ ? static_cast<std::uint32_t>(size) : size; }

  bool narrow_;
};

}  // namespace

std::int64_t Dims::uq_columns() const noexcept { return saturating_product(n, saturating_sum(d, dr)); }

Dims derive_dims(const TensorDescs& tensors, std::optional<CacheMode> cache_mode, SizeWidth width) noexcept {
  const Sizes sizes(width);
  Dims dims;

  const TensorDesc& x = tensors.token_x;
  dims.batched = x.rank == 3;
  dims.he = sizes.last(x);
  if (dims.batched) {
    dims.b = sizes.dim(x, 0);
    dims.s = sizes.dim(x, 1);
    dims.t = sizes.product(dims.b, dims.s);
  } else {
    dims.t = sizes.dim(x, 0);
    if (cache_mode && is_block_table(*cache_mode)) dims.b = sizes.dim(tensors.actual_seq_len, 0);
  }

  const TensorDesc& w_dq = tensors.weight_dq;
  dims.hcq = w_dq.rank == 4 ? sizes.product(sizes.dim(w_dq, 0), nz_width(w_dq.dtype)) : sizes.dim(w_dq, 1);
  dims.n = sizes.dim(tensors.weight_uk, 0);
  dims.d = sizes.dim(tensors.weight_uk, 1);
  dims.dr = sizes.last(tensors.rope_cos);

  const TensorDesc& w_dkv = tensors.weight_dkv_kr;
  const std::int64_t latent_and_rope =
      w_dkv.rank == 4 ? sizes.product(sizes.dim(w_dkv, 0), sizes.dim(w_dkv, 3)) : sizes.dim(w_dkv, 1);
  dims.hckv = sizes.difference(latent_and_rope, dims.dr);

  const TensorDesc& kv = tensors.kv_cache;
  dims.block_num = sizes.dim(kv, 0);
  if (kv.rank == 4) dims.block_size = sizes.dim(kv, 1);
  dims.nkv = sizes.dim(kv, kv.rank - 2);
  dims.dtile = sizes.last(kv);
  return dims;
}

}  // namespace mla_prolog
