#include "runtime/problem/expectation.hpp"

#include <algorithm>
#include <initializer_list>

#include "runtime/cache/modes.hpp"
#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

constexpr Presence kRequired = Presence::required;

Presence required_if(bool condition) noexcept { return condition ? Presence::required : Presence::absent; }
Presence optional_if(bool condition) noexcept { return condition ? Presence::optional : Presence::absent; }

Expectation tensor(Presence presence, DType dtype, std::initializer_list<std::int64_t> shape) noexcept {
  Expectation expectation{.presence = presence, .dtype = dtype};
  for (const std::int64_t size : shape) expectation.shape[static_cast<std::size_t>(expectation.rank++)] = size;
  return expectation;
}

Expectation weight(DType dtype, std::int64_t k, std::int64_t n) noexcept {
  Expectation expectation = tensor(kRequired, dtype, {k, n});
  expectation.format = Format::fractal_nz;
  return expectation;
}

// [T, ...] or [B, S, ...], as the tokens are.
Expectation per_token(Presence presence, DType dtype, const Dims& dims,
                      std::initializer_list<std::int64_t> rest) noexcept {
  Expectation expectation =
      dims.batched ? tensor(presence, dtype, {dims.b, dims.s}) : tensor(presence, dtype, {dims.t});
  for (const std::int64_t size : rest) expectation.shape[static_cast<std::size_t>(expectation.rank++)] = size;
  return expectation;
}

Expectation cache(DType dtype, std::int64_t width, const Layout& layout) noexcept {
  const Dims& dims = layout.dims;
  switch (layout.cache_mode) {
    case CacheMode::tnd:
      return tensor(kRequired, dtype, {dims.t, dims.nkv, width});
    case CacheMode::bsnd:
      return tensor(kRequired, dtype, {dims.b, dims.s, dims.nkv, width});
    default:
      return tensor(kRequired, dtype, {dims.block_num, dims.block_size, dims.nkv, width});
  }
}

Expectation kr_cache(const Layout& layout) noexcept {
  // Its emptiness is a rule of its own (validation.md 4.10); dtype and shape of an empty one do not matter.
  if (layout.scenario->per_tile()) return {.presence = Presence::unchecked};
  return cache(layout.scenario->kr_cache, layout.dims.dr, layout);
}

Expectation cache_index(const Layout& layout) noexcept {
  const Dims& dims = layout.dims;
  if (!is_paged(layout.cache_mode)) return {};
  if (!is_block_table(layout.cache_mode)) return per_token(kRequired, DType::int64, dims, {});
  if (!dims.batched) return tensor(kRequired, DType::int64, {kAnySize});
  return tensor(kRequired, DType::int64, {dims.b, ceil_div(dims.s, dims.block_size)});
}

// A dequantisation scale of `rows` rows or columns: one float32 each, or one E8M0 per 32 elements along `depth`.
Expectation weight_scale(Presence presence, const Scenario& scenario, std::int64_t columns,
                         std::int64_t depth) noexcept {
  return scenario.mx() ? tensor(presence, scenario.scale_dtype(), {columns, depth / kMxBlock})
                       : tensor(presence, scenario.scale_dtype(), {1, columns});
}
Expectation token_scale(Presence presence, const Scenario& scenario, std::int64_t tokens, std::int64_t depth) noexcept {
  return tensor(presence, scenario.scale_dtype(), {tokens, scenario.mx() ? depth / kMxBlock : 1});
}

Expectation quant_scale_ckv(const Layout& layout) noexcept {
  const Scenario& scenario = *layout.scenario;
  if (scenario.per_channel()) return tensor(kRequired, DType::float32, {1, kHckv});
  // V1 and V2 take the per-tensor scale replicated over all columns.
  if (scenario.per_tensor() && layout.api != ApiVersion::v3) return tensor(kRequired, DType::float32, {1, kHckv});
  return tensor(required_if(scenario.per_tensor()), DType::float32, {1});
}

Expectation dequant_scale_q_nope(const Layout& layout) noexcept {
  const bool produced = layout.scenario->per_tensor() && layout.api != ApiVersion::v1;
  // Outside its scenario V2 takes whatever is given.
  if (!produced && layout.api == ApiVersion::v2) return {.presence = Presence::unchecked};
  return tensor(required_if(produced), DType::float32, {layout.dims.t, layout.dims.n, 1});
}

}  // namespace

bool is_taken_as_nd(Format format) noexcept {
  switch (format) {
    case Format::nd:
    case Format::nchw:
    case Format::nhwc:
    case Format::ncdhw:
    case Format::dhwcn:
    case Format::ncl:
      return true;
    default:
      return false;
  }
}

Expectation expected(TensorId id, const Layout& layout) noexcept {
  const Scenario& scenario = *layout.scenario;
  const Dims& dims = layout.dims;
  const std::int64_t latent_and_rope = saturating_sum(dims.hckv, dims.dr);
  switch (id) {
    case TensorId::token_x:
      return per_token(kRequired, scenario.token_x, dims, {dims.he});
    case TensorId::weight_dq:
      return weight(scenario.token_x, dims.he, dims.hcq);
    case TensorId::weight_uq_qr:
      return weight(scenario.weight_uq_qr, dims.hcq, dims.uq_columns());
    case TensorId::weight_uk:
      return tensor(kRequired, DType::bf16, {dims.n, dims.d, dims.hckv});
    case TensorId::weight_dkv_kr:
      return weight(scenario.token_x, dims.he, latent_and_rope);
    case TensorId::rmsnorm_gamma_cq:
      return tensor(kRequired, DType::bf16, {dims.hcq});
    case TensorId::rmsnorm_gamma_ckv:
      return tensor(kRequired, DType::bf16, {dims.hckv});
    case TensorId::rope_sin:
    case TensorId::rope_cos:
      return per_token(kRequired, DType::bf16, dims, {dims.dr});
    case TensorId::kv_cache:
      return cache(scenario.kv_cache, dims.dtile, layout);
    case TensorId::kr_cache:
      return kr_cache(layout);
    case TensorId::cache_index:
      return cache_index(layout);
    case TensorId::dequant_scale_x:
      return token_scale(required_if(scenario.full_quant()), scenario, dims.t, dims.he);
    case TensorId::dequant_scale_w_dq:
      return weight_scale(required_if(scenario.full_quant()), scenario, dims.hcq, dims.he);
    case TensorId::dequant_scale_w_uq_qr:
      return weight_scale(required_if(scenario.weight_mode != 0), scenario, dims.uq_columns(), dims.hcq);
    case TensorId::dequant_scale_w_dkv_kr:
      return weight_scale(required_if(scenario.full_quant()), scenario, latent_and_rope, dims.he);
    case TensorId::quant_scale_ckv:
      return quant_scale_ckv(layout);
    case TensorId::quant_scale_ckr:
      return tensor(required_if(scenario.per_channel()), DType::float32, {1, kDr});
    case TensorId::smooth_scales_cq:
      return tensor(optional_if(scenario.takes_smooth_scales()), DType::float32, {1, dims.hcq});
    case TensorId::actual_seq_len:
      return tensor(required_if(is_block_table(layout.cache_mode) && !dims.batched), DType::int32, {dims.b});
    case TensorId::k_nope_clip_alpha:
      return tensor(required_if(scenario.takes_clip_alpha()), DType::float32, {1});
    case TensorId::query:
      return per_token(kRequired, scenario.query, dims, {dims.n, dims.hckv});
    case TensorId::query_rope:
      return per_token(kRequired, DType::bf16, dims, {dims.n, dims.dr});
    case TensorId::dequant_scale_q_nope:
      return dequant_scale_q_nope(layout);
    case TensorId::query_norm:
      return per_token(required_if(layout.query_norm), scenario.weight_uq_qr, dims, {dims.hcq});
    case TensorId::dequant_scale_q_norm:
      return token_scale(required_if(layout.query_norm && scenario.weight_mode != 0), scenario, dims.t, dims.hcq);
    case TensorId::none:
      break;
  }
  return {};
}

std::int64_t nz_dim(const Expectation& expectation, int index) noexcept {
  const std::int64_t w0 = std::max<std::int64_t>(nz_width(expectation.dtype), 1);
  const std::array<std::int64_t, 4> dims{expectation.shape[1] / w0, expectation.shape[0] / 16, 16, w0};
  return dims[static_cast<std::size_t>(index)];
}

}  // namespace mla_prolog
