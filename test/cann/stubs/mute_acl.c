/* A libascendcl that cannot tell its version. */
#define STUB(name) \
  __attribute__((visibility("default"))) int name(void) { return 100003; }
STUB(aclInit)
STUB(aclrtGetDevice)
STUB(aclrtSetDevice)
STUB(aclrtResetDevice)
STUB(aclrtCreateStream)
STUB(aclrtDestroyStream)
STUB(aclrtSynchronizeStream)
STUB(aclrtMalloc)
STUB(aclrtFree)
STUB(aclrtMemcpy)
STUB(aclsysGetVersionStr)
STUB(aclsysGetCANNVersion)
__attribute__((visibility("default"))) const char* aclGetRecentErrMsg(void) { return 0; }
__attribute__((visibility("default"))) const char* aclrtGetSocName(void) { return "Ascend910B3"; }
