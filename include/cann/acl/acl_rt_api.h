/* The runtime's C++ convenience header: overloads that lead to the functions of acl_rt.h, without those of functions
 * that are not emulated (two-dimensional and batched copies, registered and managed memory). In C it is acl_rt.h. */
#ifndef MLA_PROLOG_CANN_ACL_RT_API_H
#define MLA_PROLOG_CANN_ACL_RT_API_H

#include "acl_rt.h"

#ifdef __cplusplus

/* Shorter names for what takes a limit or flags. */
inline aclError aclrtSynchronizeDevice(int32_t timeout) { return aclrtSynchronizeDeviceWithTimeout(timeout); }
inline aclError aclrtSynchronizeStream(aclrtStream stream, int32_t timeout) {
  return aclrtSynchronizeStreamWithTimeout(stream, timeout);
}
inline aclError aclrtSynchronizeEvent(aclrtEvent event, int32_t timeout) {
  return aclrtSynchronizeEventWithTimeout(event, timeout);
}
inline aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return aclrtStreamWaitEventWithTimeout(stream, event, timeout);
}
inline aclError aclrtCreateStream(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return aclrtCreateStreamWithConfig(stream, priority, flag);
}
inline aclError aclrtCreateEvent(aclrtEvent* event, uint32_t flag) { return aclrtCreateEventExWithFlag(event, flag); }
inline aclError aclrtSetOpExecuteTimeOut(uint64_t timeout, uint64_t* actualTimeout) {
  return aclrtSetOpExecuteTimeOutV2(timeout, actualTimeout);
}

/* Typed pointers where C has void pointers. Sizes stay in bytes. */
template <typename T>
inline aclError aclrtMalloc(T** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void**>(devPtr), size, policy, cfg);
}
template <typename T>
inline aclError aclrtMalloc(T** devPtr, size_t size, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void**>(devPtr), size, ACL_MEM_MALLOC_HUGE_FIRST, cfg);
}
template <typename T>
inline aclError aclrtMallocHost(T** hostPtr, size_t size, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocHostWithCfg(reinterpret_cast<void**>(hostPtr), size, cfg);
}
template <typename T, typename U>
inline aclError aclrtMemcpy(T* dst, size_t destMax, const U* src, size_t count, aclrtMemcpyKind kind) {
  return aclrtMemcpy(static_cast<void*>(dst), destMax, static_cast<const void*>(src), count, kind);
}
template <typename T, typename U>
inline aclError aclrtMemcpyAsync(T* dst, size_t destMax, const U* src, size_t count, aclrtMemcpyKind kind,
                                 aclrtStream stream) {
  return aclrtMemcpyAsync(static_cast<void*>(dst), destMax, static_cast<const void*>(src), count, kind, stream);
}

#endif

#endif
