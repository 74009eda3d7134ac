/* The MLA prolog, second version; deprecated. Usable from C99 and C++11. */
#ifndef MLA_PROLOG_CANN_ACLNN_MLA_PROLOG_V2_WEIGHT_NZ_H
#define MLA_PROLOG_CANN_ACLNN_MLA_PROLOG_V2_WEIGHT_NZ_H

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#warning aclnnMlaPrologV2WeightNz is deprecated and will be removed in December 2026: use aclnnMlaPrologV3WeightNz

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the call, returns the device workspace it needs and an executor for phase two. */
__attribute__((deprecated("use aclnnMlaPrologV3WeightNz"))) aclnnStatus aclnnMlaPrologV2WeightNzGetWorkspaceSize(
    const aclTensor* tokenX, const aclTensor* weightDq, const aclTensor* weightUqQr, const aclTensor* weightUk,
    const aclTensor* weightDkvKr, const aclTensor* rmsnormGammaCq, const aclTensor* rmsnormGammaCkv,
    const aclTensor* ropeSin, const aclTensor* ropeCos, const aclTensor* cacheIndex, aclTensor* kvCacheRef,
    aclTensor* krCacheRef, const aclTensor* dequantScaleXOptional, const aclTensor* dequantScaleWDqOptional,
    const aclTensor* dequantScaleWUqQrOptional, const aclTensor* dequantScaleWDkvKrOptional,
    const aclTensor* quantScaleCkvOptional, const aclTensor* quantScaleCkrOptional,
    const aclTensor* smoothScalesCqOptional, double rmsnormEpsilonCq, double rmsnormEpsilonCkv, char* cacheModeOptional,
    const aclTensor* queryOut, const aclTensor* queryRopeOut, const aclTensor* dequantScaleQNopeOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: enqueues the work on the stream. */
__attribute__((deprecated("use aclnnMlaPrologV3WeightNz"))) aclnnStatus aclnnMlaPrologV2WeightNz(
    void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
