/* Rearranges a tensor into another memory format. Usable from C99 and C++11. */
#ifndef MLA_PROLOG_CANN_ACLNN_NPU_FORMAT_CAST_H
#define MLA_PROLOG_CANN_ACLNN_NPU_FORMAT_CAST_H

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Storage shape of the result. `dstFormat` 29 is FRACTAL_NZ; `additionalDtype` chooses the group width, -1 takes the
 * source's data type. dstShape was made with new[] and belongs to the caller. */
aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, const int dstFormat,
                                                     int additionalDtype, int64_t** dstShape, uint64_t* dstShapeSize,
                                                     int* actualFormat);

/* Phase one. dstTensor: view shape of the source; format and storage shape from the call above. */
aclnnStatus aclnnNpuFormatCastGetWorkspaceSize(const aclTensor* srcTensor, aclTensor* dstTensor,
                                               uint64_t* workspaceSize, aclOpExecutor** executor);

/* Phase two: enqueues the work on the stream. */
aclnnStatus aclnnNpuFormatCast(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
