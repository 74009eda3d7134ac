// libopapi_transformer and libopapi: the three MlaProlog operators.
#include "aclnnop/aclnn_mla_prolog.h"
#include "aclnnop/aclnn_mla_prolog_v2_weight_nz.h"
#include "aclnnop/aclnn_mla_prolog_v3_weight_nz.h"
#include "cann/exports/site.hpp"
#include "cann/ops/mla_prolog.hpp"

namespace api = mla_prolog::cann::api;
using mla_prolog::ApiVersion;
using mla_prolog::TensorId;

extern "C" {

aclnnStatus aclnnMlaPrologV3WeightNzGetWorkspaceSize(
    const aclTensor* tokenX, const aclTensor* weightDq, const aclTensor* weightUqQr, const aclTensor* weightUk,
    const aclTensor* weightDkvKr, const aclTensor* rmsnormGammaCq, const aclTensor* rmsnormGammaCkv,
    const aclTensor* ropeSin, const aclTensor* ropeCos, aclTensor* kvCacheRef, aclTensor* krCacheRef,
    const aclTensor* cacheIndexOptional, const aclTensor* dequantScaleXOptional,
    const aclTensor* dequantScaleWDqOptional, const aclTensor* dequantScaleWUqQrOptional,
    const aclTensor* dequantScaleWDkvKrOptional, const aclTensor* quantScaleCkvOptional,
    const aclTensor* quantScaleCkrOptional, const aclTensor* smoothScalesCqOptional,
    const aclTensor* actualSeqLenOptional, const aclTensor* kNopeClipAlphaOptional, double rmsnormEpsilonCq,
    double rmsnormEpsilonCkv, char* cacheModeOptional, int64_t weightQuantMode, int64_t kvCacheQuantMode,
    int64_t queryQuantMode, int64_t ckvkrRepoMode, int64_t quantScaleRepoMode, int64_t tileSize, double qcQrScale,
    double kcScale, const aclTensor* queryOut, const aclTensor* queryRopeOut,
    const aclTensor* dequantScaleQNopeOutOptional, const aclTensor* queryNormOutOptional,
    const aclTensor* dequantScaleQNormOutOptional, uint64_t* workspaceSize, aclOpExecutor** executor) {
  api::MlaPrologCall call;
  call.version = ApiVersion::v3;
  call[TensorId::token_x] = tokenX;
  call[TensorId::weight_dq] = weightDq;
  call[TensorId::weight_uq_qr] = weightUqQr;
  call[TensorId::weight_uk] = weightUk;
  call[TensorId::weight_dkv_kr] = weightDkvKr;
  call[TensorId::rmsnorm_gamma_cq] = rmsnormGammaCq;
  call[TensorId::rmsnorm_gamma_ckv] = rmsnormGammaCkv;
  call[TensorId::rope_sin] = ropeSin;
  call[TensorId::rope_cos] = ropeCos;
  call[TensorId::kv_cache] = kvCacheRef;
  call[TensorId::kr_cache] = krCacheRef;
  call[TensorId::cache_index] = cacheIndexOptional;
  call[TensorId::dequant_scale_x] = dequantScaleXOptional;
  call[TensorId::dequant_scale_w_dq] = dequantScaleWDqOptional;
  call[TensorId::dequant_scale_w_uq_qr] = dequantScaleWUqQrOptional;
  call[TensorId::dequant_scale_w_dkv_kr] = dequantScaleWDkvKrOptional;
  call[TensorId::quant_scale_ckv] = quantScaleCkvOptional;
  call[TensorId::quant_scale_ckr] = quantScaleCkrOptional;
  call[TensorId::smooth_scales_cq] = smoothScalesCqOptional;
  call[TensorId::actual_seq_len] = actualSeqLenOptional;
  call[TensorId::k_nope_clip_alpha] = kNopeClipAlphaOptional;
  call[TensorId::query] = queryOut;
  call[TensorId::query_rope] = queryRopeOut;
  call[TensorId::dequant_scale_q_nope] = dequantScaleQNopeOutOptional;
  call[TensorId::query_norm] = queryNormOutOptional;
  call[TensorId::dequant_scale_q_norm] = dequantScaleQNormOutOptional;
  call.epsilon_cq = rmsnormEpsilonCq;
  call.epsilon_ckv = rmsnormEpsilonCkv;
  call.cache_mode = cacheModeOptional;
  call.weight_quant_mode = weightQuantMode;
  call.kv_cache_quant_mode = kvCacheQuantMode;
  call.query_quant_mode = queryQuantMode;
  call.ckvkr_repo_mode = ckvkrRepoMode;
  call.quant_scale_repo_mode = quantScaleRepoMode;
  call.tile_size = tileSize;
  call.qc_qr_scale = qcQrScale;
  call.kc_scale = kcScale;
  return api::mla_prolog_phase_one(MLA_PROLOG_CALL_SITE(), call, workspaceSize, executor);
}

aclnnStatus aclnnMlaPrologV3WeightNz(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream) {
  return api::mla_prolog_phase_two(MLA_PROLOG_CALL_SITE(), ApiVersion::v3, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnMlaPrologV2WeightNzGetWorkspaceSize(
    const aclTensor* tokenX, const aclTensor* weightDq, const aclTensor* weightUqQr, const aclTensor* weightUk,
    const aclTensor* weightDkvKr, const aclTensor* rmsnormGammaCq, const aclTensor* rmsnormGammaCkv,
    const aclTensor* ropeSin, const aclTensor* ropeCos, const aclTensor* cacheIndex, aclTensor* kvCacheRef,
    aclTensor* krCacheRef, const aclTensor* dequantScaleXOptional, const aclTensor* dequantScaleWDqOptional,
    const aclTensor* dequantScaleWUqQrOptional, const aclTensor* dequantScaleWDkvKrOptional,
    const aclTensor* quantScaleCkvOptional, const aclTensor* quantScaleCkrOptional,
    const aclTensor* smoothScalesCqOptional, double rmsnormEpsilonCq, double rmsnormEpsilonCkv, char* cacheModeOptional,
    const aclTensor* queryOut, const aclTensor* queryRopeOut, const aclTensor* dequantScaleQNopeOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  api::MlaPrologCall call;
  call.version = ApiVersion::v2;
  call[TensorId::token_x] = tokenX;
  call[TensorId::weight_dq] = weightDq;
  call[TensorId::weight_uq_qr] = weightUqQr;
  call[TensorId::weight_uk] = weightUk;
  call[TensorId::weight_dkv_kr] = weightDkvKr;
  call[TensorId::rmsnorm_gamma_cq] = rmsnormGammaCq;
  call[TensorId::rmsnorm_gamma_ckv] = rmsnormGammaCkv;
  call[TensorId::rope_sin] = ropeSin;
  call[TensorId::rope_cos] = ropeCos;
  call[TensorId::cache_index] = cacheIndex;
  call[TensorId::kv_cache] = kvCacheRef;
  call[TensorId::kr_cache] = krCacheRef;
  call[TensorId::dequant_scale_x] = dequantScaleXOptional;
  call[TensorId::dequant_scale_w_dq] = dequantScaleWDqOptional;
  call[TensorId::dequant_scale_w_uq_qr] = dequantScaleWUqQrOptional;
  call[TensorId::dequant_scale_w_dkv_kr] = dequantScaleWDkvKrOptional;
  call[TensorId::quant_scale_ckv] = quantScaleCkvOptional;
  call[TensorId::quant_scale_ckr] = quantScaleCkrOptional;
  call[TensorId::smooth_scales_cq] = smoothScalesCqOptional;
  call[TensorId::query] = queryOut;
  call[TensorId::query_rope] = queryRopeOut;
  call[TensorId::dequant_scale_q_nope] = dequantScaleQNopeOutOptional;
  call.epsilon_cq = rmsnormEpsilonCq;
  call.epsilon_ckv = rmsnormEpsilonCkv;
  call.cache_mode = cacheModeOptional;
  return api::mla_prolog_phase_one(MLA_PROLOG_CALL_SITE(), call, workspaceSize, executor);
}

aclnnStatus aclnnMlaPrologV2WeightNz(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream) {
  return api::mla_prolog_phase_two(MLA_PROLOG_CALL_SITE(), ApiVersion::v2, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnMlaPrologGetWorkspaceSize(
    const aclTensor* tokenX, const aclTensor* weightDq, const aclTensor* weightUqQr, const aclTensor* weightUk,
    const aclTensor* weightDkvKr, const aclTensor* rmsnormGammaCq, const aclTensor* rmsnormGammaCkv,
    const aclTensor* ropeSin, const aclTensor* ropeCos, const aclTensor* cacheIndex, aclTensor* kvCacheRef,
    aclTensor* krCacheRef, const aclTensor* dequantScaleXOptional, const aclTensor* dequantScaleWDqOptional,
    const aclTensor* dequantScaleWUqQrOptional, const aclTensor* dequantScaleWDkvKrOptional,
    const aclTensor* quantScaleCkvOptional, const aclTensor* quantScaleCkrOptional,
    const aclTensor* smoothScalesCqOptional, double rmsnormEpsilonCq, double rmsnormEpsilonCkv, char* cacheModeOptional,
    const aclTensor* queryOut, const aclTensor* queryRopeOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  api::MlaPrologCall call;
  call.version = ApiVersion::v1;
  call[TensorId::token_x] = tokenX;
  call[TensorId::weight_dq] = weightDq;
  call[TensorId::weight_uq_qr] = weightUqQr;
  call[TensorId::weight_uk] = weightUk;
  call[TensorId::weight_dkv_kr] = weightDkvKr;
  call[TensorId::rmsnorm_gamma_cq] = rmsnormGammaCq;
  call[TensorId::rmsnorm_gamma_ckv] = rmsnormGammaCkv;
  call[TensorId::rope_sin] = ropeSin;
  call[TensorId::rope_cos] = ropeCos;
  call[TensorId::cache_index] = cacheIndex;
  call[TensorId::kv_cache] = kvCacheRef;
  call[TensorId::kr_cache] = krCacheRef;
  call[TensorId::dequant_scale_x] = dequantScaleXOptional;
  call[TensorId::dequant_scale_w_dq] = dequantScaleWDqOptional;
  call[TensorId::dequant_scale_w_uq_qr] = dequantScaleWUqQrOptional;
  call[TensorId::dequant_scale_w_dkv_kr] = dequantScaleWDkvKrOptional;
  call[TensorId::quant_scale_ckv] = quantScaleCkvOptional;
  call[TensorId::quant_scale_ckr] = quantScaleCkrOptional;
  call[TensorId::smooth_scales_cq] = smoothScalesCqOptional;
  call[TensorId::query] = queryOut;
  call[TensorId::query_rope] = queryRopeOut;
  call.epsilon_cq = rmsnormEpsilonCq;
  call.epsilon_ckv = rmsnormEpsilonCkv;
  call.cache_mode = cacheModeOptional;
  return api::mla_prolog_phase_one(MLA_PROLOG_CALL_SITE(), call, workspaceSize, executor);
}

aclnnStatus aclnnMlaProlog(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return api::mla_prolog_phase_two(MLA_PROLOG_CALL_SITE(), ApiVersion::v1, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
