// libascendcl and libacl_rt: streams, events and memory.
#include "acl/acl_rt.h"

#include "cann/exports/site.hpp"
#include "cann/runtime/api.hpp"

namespace api = mla_prolog::cann::api;

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) { return api::create_stream(MLA_PROLOG_CALL_SITE(), stream); }
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return api::create_stream(MLA_PROLOG_CALL_SITE(), stream);
}
aclError aclrtDestroyStream(aclrtStream stream) { return api::destroy_stream(MLA_PROLOG_CALL_SITE(), stream, false); }
aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return api::destroy_stream(MLA_PROLOG_CALL_SITE(), stream, true);
}
aclError aclrtSynchronizeStream(aclrtStream stream) {
  return api::synchronize_stream(MLA_PROLOG_CALL_SITE(), stream, -1);
}
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return api::synchronize_stream(MLA_PROLOG_CALL_SITE(), stream, timeout);
}
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return api::query_stream(MLA_PROLOG_CALL_SITE(), stream, status);
}
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return api::stream_wait_event(MLA_PROLOG_CALL_SITE(), stream, event, 0);
}
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return api::stream_wait_event(MLA_PROLOG_CALL_SITE(), stream, event, timeout);
}
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return api::set_failure_mode(MLA_PROLOG_CALL_SITE(), stream, mode);
}
aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return api::subscribe(MLA_PROLOG_CALL_SITE(), threadId, stream);
}
aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return api::unsubscribe(MLA_PROLOG_CALL_SITE(), threadId, stream);
}
aclError aclrtProcessReport(int32_t timeout) { return api::process_report(MLA_PROLOG_CALL_SITE(), timeout); }
aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return api::launch_callback(MLA_PROLOG_CALL_SITE(), fn, userData, blockType, stream);
}

aclError aclrtCreateEvent(aclrtEvent* event) { return api::create_event(MLA_PROLOG_CALL_SITE(), event); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) {
  return api::create_event(MLA_PROLOG_CALL_SITE(), event);
}
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) {
  return api::create_event(MLA_PROLOG_CALL_SITE(), event);
}
aclError aclrtDestroyEvent(aclrtEvent event) { return api::destroy_event(MLA_PROLOG_CALL_SITE(), event); }
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return api::record_event(MLA_PROLOG_CALL_SITE(), event, stream);
}
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return api::reset_event(MLA_PROLOG_CALL_SITE(), event, stream);
}
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  bool complete = false;
  const aclError result = api::query_event(MLA_PROLOG_CALL_SITE(), event, status == nullptr ? nullptr : &complete);
  if (result == ACL_SUCCESS && status != nullptr)
    *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return result;
}
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  bool complete = false;
  const aclError result = api::query_event(MLA_PROLOG_CALL_SITE(), event, status == nullptr ? nullptr : &complete);
  if (result == ACL_SUCCESS && status != nullptr) {
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  }
  return result;
}
aclError aclrtSynchronizeEvent(aclrtEvent event) { return api::synchronize_event(MLA_PROLOG_CALL_SITE(), event, -1); }
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return api::synchronize_event(MLA_PROLOG_CALL_SITE(), event, timeout);
}
aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return api::elapsed_time(MLA_PROLOG_CALL_SITE(), ms, startEvent, endEvent);
}

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return api::malloc_device(MLA_PROLOG_CALL_SITE(), devPtr, size);
}
aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return api::malloc_device(MLA_PROLOG_CALL_SITE(), devPtr, size);
}
aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return api::malloc_device(MLA_PROLOG_CALL_SITE(), devPtr, size);
}
aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig* cfg) {
  return api::malloc_device(MLA_PROLOG_CALL_SITE(), devPtr, size, cfg);
}
aclError aclrtFree(void* devPtr) { return api::free_device(MLA_PROLOG_CALL_SITE(), devPtr); }
aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return api::malloc_host(MLA_PROLOG_CALL_SITE(), hostPtr, size);
}
aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return api::malloc_host(MLA_PROLOG_CALL_SITE(), ptr, size, cfg);
}
aclError aclrtFreeHost(void* hostPtr) { return api::free_host(MLA_PROLOG_CALL_SITE(), hostPtr); }
aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return api::copy(MLA_PROLOG_CALL_SITE(), dst, destMax, src, count, kind);
}
aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return api::copy_async(MLA_PROLOG_CALL_SITE(), dst, destMax, src, count, kind, stream);
}
aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return api::fill(MLA_PROLOG_CALL_SITE(), devPtr, maxCount, value, count);
}
aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return api::fill_async(MLA_PROLOG_CALL_SITE(), devPtr, maxCount, value, count, stream);
}
aclError aclrtMemFlush(void* devPtr, size_t size) {
  return api::check_device_range(MLA_PROLOG_CALL_SITE(), devPtr, size);
}
aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return api::check_device_range(MLA_PROLOG_CALL_SITE(), devPtr, size);
}
aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  return api::memory_info(MLA_PROLOG_CALL_SITE(), free, total);
}

}  // extern "C"
