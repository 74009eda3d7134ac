/* Dynamic quantisation of each row (last dimension). Usable from C99 and C++11. */
#ifndef MLA_PROLOG_CANN_ACLNN_DYNAMIC_QUANT_H
#define MLA_PROLOG_CANN_ACLNN_DYNAMIC_QUANT_H

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one. x: float16 or bfloat16; smoothScalesOptional: one value a column, dtype of x; yOut: int8; scaleOut: float,
 * one value a row. */
aclnnStatus aclnnDynamicQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* smoothScalesOptional,
                                              const aclTensor* yOut, const aclTensor* scaleOut, uint64_t* workspaceSize,
                                              aclOpExecutor** executor);

/* Phase two: enqueues the work on the stream. */
aclnnStatus aclnnDynamicQuant(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
