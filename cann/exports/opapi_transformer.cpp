// libopapi_transformer and libopapi: the three MlaProlog operators.
#include "aclnnop/aclnn_mla_prolog.h"
#include "aclnnop/aclnn_mla_prolog_v2_weight_nz.h"
#include "aclnnop/aclnn_mla_prolog_v3_weight_nz.h"
#include "cann/exports/site.hpp"
#include "cann/ops/mla_prolog.hpp"

namespace api = mla_prolog::cann::api;
using mla_prolog::ApiVersion;

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
  auto call = api::MlaPrologCall::of<ApiVersion::v3>(
      tokenX, weightDq, weightUqQr, weightUk, weightDkvKr, rmsnormGammaCq, rmsnormGammaCkv, ropeSin, ropeCos,
      kvCacheRef, krCacheRef, cacheIndexOptional, dequantScaleXOptional, dequantScaleWDqOptional,
      dequantScaleWUqQrOptional, dequantScaleWDkvKrOptional, quantScaleCkvOptional, quantScaleCkrOptional,
      smoothScalesCqOptional, actualSeqLenOptional, kNopeClipAlphaOptional, queryOut, queryRopeOut,
      dequantScaleQNopeOutOptional, queryNormOutOptional, dequantScaleQNormOutOptional);
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
  auto call = api::MlaPrologCall::of<ApiVersion::v2>(
      tokenX, weightDq, weightUqQr, weightUk, weightDkvKr, rmsnormGammaCq, rmsnormGammaCkv, ropeSin, ropeCos,
      cacheIndex, kvCacheRef, krCacheRef, dequantScaleXOptional, dequantScaleWDqOptional, dequantScaleWUqQrOptional,
      dequantScaleWDkvKrOptional, quantScaleCkvOptional, quantScaleCkrOptional, smoothScalesCqOptional, queryOut,
      queryRopeOut, dequantScaleQNopeOutOptional);
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
  auto call = api::MlaPrologCall::of<ApiVersion::v1>(
      tokenX, weightDq, weightUqQr, weightUk, weightDkvKr, rmsnormGammaCq, rmsnormGammaCkv, ropeSin, ropeCos,
      cacheIndex, kvCacheRef, krCacheRef, dequantScaleXOptional, dequantScaleWDqOptional, dequantScaleWUqQrOptional,
      dequantScaleWDkvKrOptional, quantScaleCkvOptional, quantScaleCkrOptional, smoothScalesCqOptional, queryOut,
      queryRopeOut);
  call.epsilon_cq = rmsnormEpsilonCq;
  call.epsilon_ckv = rmsnormEpsilonCkv;
  call.cache_mode = cacheModeOptional;
  return api::mla_prolog_phase_one(MLA_PROLOG_CALL_SITE(), call, workspaceSize, executor);
}

aclnnStatus aclnnMlaProlog(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return api::mla_prolog_phase_two(MLA_PROLOG_CALL_SITE(), ApiVersion::v1, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
