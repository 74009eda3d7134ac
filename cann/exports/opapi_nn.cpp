// libopapi_nn, libopapi_math and libopapi: aclnnDynamicQuant.
#include "aclnnop/aclnn_dynamic_quant.h"
#include "cann/exports/site.hpp"
#include "cann/meta/executor.hpp"
#include "cann/ops/conversions.hpp"

namespace api = mla_prolog::cann::api;

extern "C" {

aclnnStatus aclnnDynamicQuantGetWorkspaceSize(const aclTensor* x, const aclTensor* smoothScalesOptional,
                                              const aclTensor* yOut, const aclTensor* scaleOut, uint64_t* workspaceSize,
                                              aclOpExecutor** executor) {
  return api::dynamic_quant_phase_one(MLA_PROLOG_CALL_SITE(), x, smoothScalesOptional, yOut, scaleOut, workspaceSize,
                                      executor);
}
aclnnStatus aclnnDynamicQuant(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
  return api::launch(MLA_PROLOG_CALL_SITE(), "aclnnDynamicQuant", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
