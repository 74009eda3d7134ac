// libopapi_math and libopapi: aclnnNpuFormatCast.
#include "aclnnop/aclnn_npu_format_cast.h"
#include "cann/exports/site.hpp"
#include "cann/meta/executor.hpp"
#include "cann/ops/conversions.hpp"

namespace api = mla_prolog::cann::api;

extern "C" {

aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, const int dstFormat,
                                                     int additionalDtype, int64_t** dstShape, uint64_t* dstShapeSize,
                                                     int* actualFormat) {
  return api::format_cast_shape(MLA_PROLOG_CALL_SITE(), srcTensor, dstFormat, additionalDtype, dstShape, dstShapeSize,
                                actualFormat);
}
aclnnStatus aclnnNpuFormatCastGetWorkspaceSize(const aclTensor* srcTensor, aclTensor* dstTensor,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return api::format_cast_phase_one(MLA_PROLOG_CALL_SITE(), srcTensor, dstTensor, workspaceSize, executor);
}
aclnnStatus aclnnNpuFormatCast(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return api::launch(MLA_PROLOG_CALL_SITE(), "aclnnNpuFormatCast", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
