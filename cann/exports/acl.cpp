// libascendcl and libacl_rt: initialisation, versions, error text; devices and contexts.
#include "acl/acl.h"

#include "cann/exports/site.hpp"
#include "cann/runtime/api.hpp"
#include "mla_prolog_emulation.h"

namespace api = mla_prolog::cann::api;

extern "C" {

int32_t mla_prolog_is_emulated(void) { return 1; }
uint64_t mla_prolog_finding_count(void) { return api::findings(); }

size_t aclDataTypeSize(aclDataType dataType) { return api::data_type_size(dataType); }
float aclFloat16ToFloat(aclFloat16 value) { return api::float16_to_float(value); }
aclFloat16 aclFloatToFloat16(float value) { return api::float_to_float16(value); }

aclError aclInit(const char* configPath) { return api::init(MLA_PROLOG_CALL_SITE(), configPath); }
aclError aclFinalize(void) { return api::finalize(MLA_PROLOG_CALL_SITE()); }
const char* aclGetRecentErrMsg(void) { return api::recent_error(); }

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return api::cann_version(MLA_PROLOG_CALL_SITE(), name, version);
}
aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return api::version_text(MLA_PROLOG_CALL_SITE(), pkgName, versionStr);
}
aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return api::version_number(MLA_PROLOG_CALL_SITE(), pkgName, versionNum);
}

aclError aclrtSetDevice(int32_t deviceId) { return api::set_device(MLA_PROLOG_CALL_SITE(), deviceId); }
aclError aclrtResetDevice(int32_t deviceId) { return api::reset_device(MLA_PROLOG_CALL_SITE(), deviceId, false); }
aclError aclrtResetDeviceForce(int32_t deviceId) { return api::reset_device(MLA_PROLOG_CALL_SITE(), deviceId, true); }
aclError aclrtGetDevice(int32_t* deviceId) { return api::get_device(MLA_PROLOG_CALL_SITE(), deviceId); }
aclError aclrtGetDeviceCount(uint32_t* count) { return api::device_count(MLA_PROLOG_CALL_SITE(), count); }
aclError aclrtSynchronizeDevice(void) { return api::synchronize_device(MLA_PROLOG_CALL_SITE(), -1); }
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return api::synchronize_device(MLA_PROLOG_CALL_SITE(), timeout);
}
aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return api::execution_limit(MLA_PROLOG_CALL_SITE(), timeout, actualTimeout);
}
aclError aclrtGetRunMode(aclrtRunMode* runMode) { return api::run_mode(MLA_PROLOG_CALL_SITE(), runMode); }
const char* aclrtGetSocName(void) { return api::soc_name(); }
aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return api::interface_version(MLA_PROLOG_CALL_SITE(), majorVersion, minorVersion, patchVersion);
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return api::create_context(MLA_PROLOG_CALL_SITE(), context, deviceId);
}
aclError aclrtDestroyContext(aclrtContext context) { return api::destroy_context(MLA_PROLOG_CALL_SITE(), context); }
aclError aclrtSetCurrentContext(aclrtContext context) {
  return api::set_current_context(MLA_PROLOG_CALL_SITE(), context);
}
aclError aclrtGetCurrentContext(aclrtContext* context) {
  return api::get_current_context(MLA_PROLOG_CALL_SITE(), context);
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return api::set_option(MLA_PROLOG_CALL_SITE(), true, opt, value);
}
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return api::get_option(MLA_PROLOG_CALL_SITE(), true, opt, value);
}
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return api::set_option(MLA_PROLOG_CALL_SITE(), false, opt, value);
}
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return api::get_option(MLA_PROLOG_CALL_SITE(), false, opt, value);
}

}  // extern "C"
