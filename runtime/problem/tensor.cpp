// Tensor descriptions: shape arithmetic that cannot overflow, and access to tensors by id.
#include "mla_prolog/tensor.hpp"

#include <algorithm>
#include <limits>

#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

int stored_rank(const TensorDesc& desc) noexcept { return std::min(desc.rank, kMaxRank); }

}  // namespace

TensorDesc TensorDesc::dense(DType dtype, std::span<const std::int64_t> shape, Format format) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.format = format;
  desc.rank = static_cast<std::int32_t>(shape.size());
  std::int64_t stride = 1;
  for (int i = stored_rank(desc) - 1; i >= 0; --i) {
    const auto d = static_cast<std::size_t>(i);
    desc.shape[d] = shape[d];
    desc.strides[d] = stride;
    stride = saturating_product(stride, std::max<std::int64_t>(shape[d], 0));
  }
  return desc;
}

TensorDesc TensorDesc::dense(DType dtype, std::initializer_list<std::int64_t> shape, Format format) {
  return dense(dtype, std::span<const std::int64_t>(shape.begin(), shape.size()), format);
}

TensorDesc TensorDesc::nz(DType dtype, std::int64_t k, std::int64_t n) {
  const std::int64_t w0 = std::max<std::int64_t>(nz_width(dtype), 1);
  return dense(dtype, {n / w0, k / 16, 16, w0}, Format::fractal_nz);
}

bool TensorDesc::has_zero_elements() const noexcept {
  for (int i = 0; i < stored_rank(*this); ++i) {
    if (shape[static_cast<std::size_t>(i)] == 0) return true;
  }
  return false;
}

bool TensorDesc::is_dense() const noexcept {
  std::int64_t expected = 1;
  for (int i = stored_rank(*this) - 1; i >= 0; --i) {
    const auto d = static_cast<std::size_t>(i);
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected = saturating_product(expected, std::max<std::int64_t>(shape[d], 0));
  }
  return true;
}

std::int64_t TensorDesc::numel() const noexcept {
  if (!present() || has_zero_elements()) return 0;
  std::int64_t count = 1;
  for (int i = 0; i < stored_rank(*this); ++i) {
    count = saturating_product(count, std::max<std::int64_t>(shape[static_cast<std::size_t>(i)], 0));
  }
  return count;
}

std::size_t TensorDesc::extent_bytes() const noexcept {
  if (numel() == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < stored_rank(*this); ++i) {
    const auto d = static_cast<std::size_t>(i);
    const std::int64_t step = saturating_product(shape[d] - 1, std::max<std::int64_t>(strides[d], 0));
    if (__builtin_add_overflow(last, step, &last)) return std::numeric_limits<std::size_t>::max();
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(last) + 1, element_size(dtype), &bytes)) {
    return std::numeric_limits<std::size_t>::max();
  }
  return bytes;
}

std::string TensorDesc::to_string() const {
  if (!present()) return "null";
  std::string text(mla_prolog::to_string(dtype));
  if (format != Format::nd) text.append(" ").append(mla_prolog::to_string(format));
  if (rank > kMaxRank) return text.append(" of ").append(std::to_string(rank)).append(" dimensions");
  text += " [";
  for (int i = 0; i < rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[static_cast<std::size_t>(i)]);
  }
  return text += "]";
}

namespace {

// Calls use(member) with the named member of any tensor set.
template <typename S, typename Use>
void with_member(S& set, TensorId id, Use use) {
  switch (id) {
#define MLA_PROLOG_MEMBER(name) \
  case TensorId::name:          \
    use(set.name);              \
    break
    MLA_PROLOG_MEMBER(token_x);
    MLA_PROLOG_MEMBER(weight_dq);
    MLA_PROLOG_MEMBER(weight_uq_qr);
    MLA_PROLOG_MEMBER(weight_uk);
    MLA_PROLOG_MEMBER(weight_dkv_kr);
    MLA_PROLOG_MEMBER(rmsnorm_gamma_cq);
    MLA_PROLOG_MEMBER(rmsnorm_gamma_ckv);
    MLA_PROLOG_MEMBER(rope_sin);
    MLA_PROLOG_MEMBER(rope_cos);
    MLA_PROLOG_MEMBER(kv_cache);
    MLA_PROLOG_MEMBER(kr_cache);
    MLA_PROLOG_MEMBER(cache_index);
    MLA_PROLOG_MEMBER(dequant_scale_x);
    MLA_PROLOG_MEMBER(dequant_scale_w_dq);
    MLA_PROLOG_MEMBER(dequant_scale_w_uq_qr);
    MLA_PROLOG_MEMBER(dequant_scale_w_dkv_kr);
    MLA_PROLOG_MEMBER(quant_scale_ckv);
    MLA_PROLOG_MEMBER(quant_scale_ckr);
    MLA_PROLOG_MEMBER(smooth_scales_cq);
    MLA_PROLOG_MEMBER(actual_seq_len);
    MLA_PROLOG_MEMBER(k_nope_clip_alpha);
    MLA_PROLOG_MEMBER(query);
    MLA_PROLOG_MEMBER(query_rope);
    MLA_PROLOG_MEMBER(dequant_scale_q_nope);
    MLA_PROLOG_MEMBER(query_norm);
    MLA_PROLOG_MEMBER(dequant_scale_q_norm);
#undef MLA_PROLOG_MEMBER
    case TensorId::none:
      break;
  }
}

}  // namespace

TensorDesc& TensorDescs::operator[](TensorId id) noexcept {
  TensorDesc* desc = nullptr;
  with_member(*this, id, [&](TensorDesc& member) { desc = &member; });
  return *desc;
}

const TensorDesc& TensorDescs::operator[](TensorId id) const noexcept {
  const TensorDesc* desc = nullptr;
  with_member(*this, id, [&](const TensorDesc& member) { desc = &member; });
  return *desc;
}

const void* Tensors::get(TensorId id) const noexcept {
  const void* data = nullptr;
  with_member(*this, id, [&](const void* member) { data = member; });
  return data;
}

void Tensors::set(TensorId id, void* data) noexcept {
  with_member(*this, id, [&](auto& member) { member = data; });
}

}  // namespace mla_prolog
