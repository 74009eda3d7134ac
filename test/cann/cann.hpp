// The emulated libraries as a plug-in sees them: opened with dlopen, functions found by name.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_mla_prolog.h"
#include "aclnnop/aclnn_mla_prolog_v2_weight_nz.h"
#include "aclnnop/aclnn_mla_prolog_v3_weight_nz.h"
#include "aclnnop/aclnn_npu_format_cast.h"
#include "mla_prolog_emulation.h"

namespace mla_prolog::test {

class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(dlopen((std::string(MLA_PROLOG_ASCEND_LIB64) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }

  template <typename Function>
  Function* find(const char* name, Function* /*declared*/) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("no symbol ") + name);
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_;
};

/// `CANN_FUNCTION(library, name)`: a pointer to the library's function, of the type the header declares.
#define CANN_FUNCTION(library, name) (library).find(#name, static_cast<decltype(&::name)>(nullptr))

struct Cann {
  Library acl{"libascendcl.so"};
  Library nnop{"libnnopbase.so"};
  Library op{"libopapi.so"};

  decltype(&::aclInit) init = CANN_FUNCTION(acl, aclInit);
  decltype(&::aclFinalize) finalize = CANN_FUNCTION(acl, aclFinalize);
  decltype(&::aclGetRecentErrMsg) error = CANN_FUNCTION(acl, aclGetRecentErrMsg);
  decltype(&::mla_prolog_finding_count) findings = CANN_FUNCTION(acl, mla_prolog_finding_count);
  decltype(&::aclrtSetDevice) set_device = CANN_FUNCTION(acl, aclrtSetDevice);
  decltype(&::aclrtResetDevice) reset_device = CANN_FUNCTION(acl, aclrtResetDevice);
  decltype(&::aclrtGetSocName) soc_name = CANN_FUNCTION(acl, aclrtGetSocName);
  decltype(&::aclrtCreateStream) create_stream = CANN_FUNCTION(acl, aclrtCreateStream);
  decltype(&::aclrtDestroyStream) destroy_stream = CANN_FUNCTION(acl, aclrtDestroyStream);
  decltype(&::aclrtSynchronizeStream) synchronize = CANN_FUNCTION(acl, aclrtSynchronizeStream);
  decltype(&::aclrtMalloc) malloc = CANN_FUNCTION(acl, aclrtMalloc);
  decltype(&::aclrtFree) free = CANN_FUNCTION(acl, aclrtFree);
  decltype(&::aclrtMemcpy) memcpy = CANN_FUNCTION(acl, aclrtMemcpy);
  decltype(&::aclCreateTensor) create_tensor = CANN_FUNCTION(nnop, aclCreateTensor);
  decltype(&::aclDestroyTensor) destroy_tensor = CANN_FUNCTION(nnop, aclDestroyTensor);
  decltype(&::aclDestroyAclOpExecutor) destroy_executor = CANN_FUNCTION(nnop, aclDestroyAclOpExecutor);
  decltype(&::aclSetAclOpExecutorRepeatable) set_repeatable = CANN_FUNCTION(nnop, aclSetAclOpExecutorRepeatable);
  decltype(&::aclSetTensorAddr) set_address = CANN_FUNCTION(nnop, aclSetTensorAddr);
  decltype(&::aclnnMlaPrologV3WeightNzGetWorkspaceSize) v3_size =
      CANN_FUNCTION(op, aclnnMlaPrologV3WeightNzGetWorkspaceSize);
  decltype(&::aclnnMlaPrologV3WeightNz) v3_run = CANN_FUNCTION(op, aclnnMlaPrologV3WeightNz);
  decltype(&::aclnnMlaPrologV2WeightNzGetWorkspaceSize) v2_size =
      CANN_FUNCTION(op, aclnnMlaPrologV2WeightNzGetWorkspaceSize);
  decltype(&::aclnnMlaPrologV2WeightNz) v2_run = CANN_FUNCTION(op, aclnnMlaPrologV2WeightNz);
  decltype(&::aclnnMlaPrologGetWorkspaceSize) v1_size = CANN_FUNCTION(op, aclnnMlaPrologGetWorkspaceSize);
  decltype(&::aclnnMlaProlog) v1_run = CANN_FUNCTION(op, aclnnMlaProlog);

  /// One for the process: the libraries are one runtime.
  static const Cann& instance() {
    static const Cann cann;
    return cann;
  }
};

}  // namespace mla_prolog::test
