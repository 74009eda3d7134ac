#include "runtime/problem/layer.hpp"

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>

namespace mla_prolog {
namespace {

using kernels::QuantKind;

Error refuse(TensorId tensor, std::string text) {
  return {{.code = StatusCode::param_invalid, .rule = Rule::problem, .tensor = tensor}, std::move(text)};
}

Profile resolve_profile(std::int64_t weight_quant_mode, Domain domain, Soc soc, Profile profile) {
  if (profile != Profile::automatic) return profile;
  if (weight_quant_mode >= 3) return Profile::ascend950;
  return domain == Domain::strict && soc == Soc::ascend950 ? Profile::ascend950 : Profile::a2;
}

Operand operand_of(DType dtype, std::int64_t weight_quant_mode) {
  switch (dtype) {
    case DType::int8:
      return Operand::int8;
    case DType::float8_e4m3fn:
      return weight_quant_mode == 3 ? Operand::mx : Operand::e4m3;
    case DType::hifloat8:
      return Operand::hif8;
    default:
      return Operand::bf16;
  }
}

QuantKind kind_of(DType dtype, Profile profile) {
  switch (dtype) {
    case DType::float8_e4m3fn:
      return QuantKind::e4m3;
    case DType::hifloat8:
      return QuantKind::hif8;
    default:
      return profile == Profile::a2 ? QuantKind::int8_a2 : QuantKind::int8_950;
  }
}

bool differs_from_one(float value) { return !(std::fabs(value - 1.0F) < FLT_EPSILON); }

std::string strides_text(TensorId id, const TensorDesc& desc, const char* rule) {
  std::string text(to_string(id));
  text += " strides [";
  for (int i = 0; i < desc.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(desc.strides[static_cast<std::size_t>(i)]);
  }
  return text + "] of " + desc.to_string() + ": " + rule;
}

// Strides of desc without its first dimension are row-major, and the first one does not overlap.
bool dense_but_first(const TensorDesc& desc) {
  TensorDesc inner = desc;
  std::int64_t inner_size = 1;
  for (int i = 1; i < desc.rank; ++i) inner_size *= desc.shape[static_cast<std::size_t>(i)];
  inner.strides[0] = inner_size;
  return inner.is_dense() && (desc.shape[0] <= 1 || desc.strides[0] >= inner_size);
}

// token_x: contiguous rows at one uniform distance.
bool uniform_rows(const TensorDesc& x, std::int64_t* stride) {
  const auto last = static_cast<std::size_t>(x.rank - 1);
  const std::int64_t width = x.shape[last];
  if (width != 1 && x.strides[last] != 1) return false;
  if (x.rank == 2) {
    *stride = x.shape[0] > 1 ? x.strides[0] : width;
    return *stride >= width;
  }
  const std::int64_t batch = x.shape[0];
  const std::int64_t seq = x.shape[1];
  if (seq > 1) {
    *stride = x.strides[1];
    return *stride >= width && (batch <= 1 || x.strides[0] == seq * *stride);
  }
  *stride = batch > 1 ? x.strides[0] : width;
  return *stride >= width;
}

}  // namespace

Result<Layer> resolve_layer(const Problem& problem, Domain domain, Soc soc, Profile profile) {
  const Attributes& attributes = problem.attributes;
  const TensorDesc& x = problem.token_x;
  Layer layer;
  layer.weight_quant_mode = static_cast<int>(attributes.weight_quant_mode);
  layer.cache_quant = static_cast<CacheQuant>(attributes.kv_cache_quant_mode);
  layer.profile = resolve_profile(attributes.weight_quant_mode, domain, soc, profile);
  if (layer.profile == Profile::a2 && layer.weight_quant_mode >= 3) {
    return refuse(TensorId::none, "profile a2: weight_quant_mode " + std::to_string(layer.weight_quant_mode) +
                                      " exists in profile 950 only");
  }
  layer.x_operand = operand_of(x.dtype, attributes.weight_quant_mode);
  layer.cq_operand = operand_of(problem.weight_uq_qr.dtype, attributes.weight_quant_mode);
  layer.cq_kind = kind_of(problem.weight_uq_qr.dtype, layer.profile);
  layer.query_kind = layer.cq_kind == QuantKind::int8_a2 ? QuantKind::int8_a2_query : layer.cq_kind;
  layer.cache_kind = kind_of(problem.kv_cache.dtype, layer.profile);

  const bool batched = x.rank == 3;
  layer.seq = batched ? x.shape[1] : 0;
  layer.tokens = batched ? x.shape[0] * x.shape[1] : x.shape[0];
  constexpr std::int64_t kMostTokens = std::numeric_limits<std::uint32_t>::max();
  if (layer.tokens > kMostTokens) {  // the strict checks count in 32 bits, as the device does
    return refuse(TensorId::token_x, "T is " + std::to_string(layer.tokens) + " in token_x, must be below 2^32");
  }
  layer.he = x.shape[static_cast<std::size_t>(x.rank - 1)];
  layer.hcq = problem.rmsnorm_gamma_cq.shape[0];
  layer.n = problem.weight_uk.shape[0];
  layer.d = problem.weight_uk.shape[1];

  layer.epsilon_cq = static_cast<float>(attributes.rmsnorm_epsilon_cq);
  layer.epsilon_ckv = static_cast<float>(attributes.rmsnorm_epsilon_ckv);
  layer.qc_qr_scale = static_cast<float>(attributes.qc_qr_scale);
  layer.kc_scale = static_cast<float>(attributes.kc_scale);
  layer.apply_qc_qr_scale = differs_from_one(layer.qc_qr_scale);
  layer.apply_kc_scale = differs_from_one(layer.kc_scale);
  layer.smooth_scales = problem.smooth_scales_cq.present();
  layer.query_norm = problem.query_norm.present();

  layer.cache_mode = *parse<CacheMode>(attributes.cache_mode);
  const TensorDesc& kv = problem.kv_cache;
  layer.kv_row = kv.shape[static_cast<std::size_t>(kv.rank - 1)];
  layer.block_num = kv.shape[0];
  layer.block_size = kv.rank == 4 ? kv.shape[1] : 1;
  layer.kv_stride = kv.strides[0];
  layer.kr_stride = problem.kr_cache.strides[0];
  layer.cache_index_entries = problem.cache_index.numel();
  layer.sequences = problem.actual_seq_len.numel();

  if (layer.tokens > 0 && !uniform_rows(x, &layer.token_x_stride)) {
    return refuse(TensorId::token_x, strides_text(TensorId::token_x, x, "rows must be contiguous and equally spaced"));
  }
  for (const TensorId id : all_tensors()) {
    const TensorDesc& desc = problem[id];
    if (id == TensorId::token_x || desc.numel() == 0) continue;
    if (is_cache(id) ? !dense_but_first(desc) : !desc.is_dense()) {
      const char* rule =
          is_cache(id) ? "all dimensions but the first must be dense, blocks must not overlap" : "must be dense";
      return refuse(id, strides_text(id, desc, rule));
    }
  }
  return layer;
}

}  // namespace mla_prolog
