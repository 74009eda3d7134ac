// A call of one of the three operators from tensors by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mla_prolog/problem.hpp"
#include "test/cann/cann.hpp"

namespace mla_prolog::test {

struct OperatorCall {
  std::array<aclTensor*, kTensorCount> tensors{};
  Attributes attributes;
  bool null_cache_mode = false;

  aclTensor*& operator[](TensorId id) { return tensors[static_cast<std::size_t>(id)]; }

  aclnnStatus phase_one(std::uint64_t* workspace, aclOpExecutor** executor) {
    return phase_one(ApiVersion::v3, workspace, executor);
  }

  aclnnStatus phase_one(ApiVersion api, std::uint64_t* workspace, aclOpExecutor** executor) {
    if (api == ApiVersion::v2) return v2(workspace, executor);
    return api == ApiVersion::v1 ? v1(workspace, executor) : v3(workspace, executor);
  }

  static aclnnStatus phase_two(ApiVersion api, void* workspace, std::uint64_t bytes, aclOpExecutor* executor,
                               aclrtStream stream) {
    const Cann& cann = Cann::instance();
    if (api == ApiVersion::v2) return cann.v2_run(workspace, bytes, executor, stream);
    if (api == ApiVersion::v1) return cann.v1_run(workspace, bytes, executor, stream);
    return cann.v3_run(workspace, bytes, executor, stream);
  }

  void destroy_tensors() {
    for (aclTensor*& tensor : tensors) {
      Cann::instance().destroy_tensor(tensor);
      tensor = nullptr;
    }
  }

 private:
  aclnnStatus v2(std::uint64_t* workspace, aclOpExecutor** executor) {
    OperatorCall& t = *this;
    std::string mode = attributes.cache_mode;
    using enum TensorId;
    return Cann::instance().v2_size(
        t[token_x], t[weight_dq], t[weight_uq_qr], t[weight_uk], t[weight_dkv_kr], t[rmsnorm_gamma_cq],
        t[rmsnorm_gamma_ckv], t[rope_sin], t[rope_cos], t[cache_index], t[kv_cache], t[kr_cache], t[dequant_scale_x],
        t[dequant_scale_w_dq], t[dequant_scale_w_uq_qr], t[dequant_scale_w_dkv_kr], t[quant_scale_ckv],
        t[quant_scale_ckr], t[smooth_scales_cq], attributes.rmsnorm_epsilon_cq, attributes.rmsnorm_epsilon_ckv,
        null_cache_mode ? nullptr : mode.data(), t[query], t[query_rope], t[dequant_scale_q_nope], workspace, executor);
  }

  aclnnStatus v1(std::uint64_t* workspace, aclOpExecutor** executor) {
    OperatorCall& t = *this;
    std::string mode = attributes.cache_mode;
    using enum TensorId;
    return Cann::instance().v1_size(
        t[token_x], t[weight_dq], t[weight_uq_qr], t[weight_uk], t[weight_dkv_kr], t[rmsnorm_gamma_cq],
        t[rmsnorm_gamma_ckv], t[rope_sin], t[rope_cos], t[cache_index], t[kv_cache], t[kr_cache], t[dequant_scale_x],
        t[dequant_scale_w_dq], t[dequant_scale_w_uq_qr], t[dequant_scale_w_dkv_kr], t[quant_scale_ckv],
        t[quant_scale_ckr], t[smooth_scales_cq], attributes.rmsnorm_epsilon_cq, attributes.rmsnorm_epsilon_ckv,
        null_cache_mode ? nullptr : mode.data(), t[query], t[query_rope], workspace, executor);
  }

  aclnnStatus v3(std::uint64_t* workspace, aclOpExecutor** executor) {
    OperatorCall& t = *this;
    const Attributes& a = attributes;
    std::string mode = a.cache_mode;
    using enum TensorId;
    return Cann::instance().v3_size(
        t[token_x], t[weight_dq], t[weight_uq_qr], t[weight_uk], t[weight_dkv_kr], t[rmsnorm_gamma_cq],
        t[rmsnorm_gamma_ckv], t[rope_sin], t[rope_cos], t[kv_cache], t[kr_cache], t[cache_index], t[dequant_scale_x],
        t[dequant_scale_w_dq], t[dequant_scale_w_uq_qr], t[dequant_scale_w_dkv_kr], t[quant_scale_ckv],
        t[quant_scale_ckr], t[smooth_scales_cq], t[actual_seq_len], t[k_nope_clip_alpha], a.rmsnorm_epsilon_cq,
        a.rmsnorm_epsilon_ckv, null_cache_mode ? nullptr : mode.data(), a.weight_quant_mode, a.kv_cache_quant_mode,
        a.query_quant_mode, a.ckvkr_repo_mode, a.quant_scale_repo_mode, a.tile_size, a.qc_qr_scale, a.kc_scale,
        t[query], t[query_rope], t[dequant_scale_q_nope], t[query_norm], t[dequant_scale_q_norm], workspace, executor);
  }
};

/// FRACTAL_NZ storage shape of a (k, n) weight.
inline std::vector<std::int64_t> nz_shape(DType dtype, std::int64_t k, std::int64_t n) {
  const std::int64_t w0 = 32 / static_cast<std::int64_t>(element_size(dtype));
  return {n / w0, k / 16, 16, w0};
}

}  // namespace mla_prolog::test
