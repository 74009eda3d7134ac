// A C++11 program that uses the C++ overloads of the runtime and typed buffers throughout. Prints what failed.
#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt_api.h"
#include "aclnn/opdev/bfloat16.h"
#include "aclnn/opdev/float8_e4m3fn.h"
#include "aclnn/opdev/float8_e8m0.h"
#include "mla_prolog_emulation.h"

namespace {

int failures = 0;

void expect(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "line %d: %s\n", line, what);
  ++failures;
}

#define EXPECT(condition) expect((condition), #condition, __LINE__)

/// There and back through device memory, with pointers of the type's own.
template <typename T>
void round_trip(aclrtStream stream, T first) {
  const size_t count = 1000;
  const size_t bytes = count * sizeof(T);
  T* host = nullptr;
  T* device = nullptr;
  T* copy = nullptr;
  EXPECT(aclrtMallocHost(&host, bytes) == ACL_SUCCESS);
  EXPECT(aclrtMalloc(&device, bytes) == ACL_SUCCESS);
  EXPECT(aclrtMalloc(&copy, bytes, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
  for (size_t i = 0; i < count; ++i) host[i] = first;
  EXPECT(aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  EXPECT(aclrtMemcpyAsync(copy, bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeStream(stream, 60000) == ACL_SUCCESS);
  std::vector<T> back(count);
  const T* const source = copy;
  EXPECT(aclrtMemcpy(back.data(), bytes, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  for (const T& value : back) EXPECT(value == first);
  EXPECT(aclrtFree(copy) == ACL_SUCCESS);
  EXPECT(aclrtFree(device) == ACL_SUCCESS);
  EXPECT(aclrtFreeHost(host) == ACL_SUCCESS);
}

/// The C functions stay what void pointers mean, and a configuration may come with either.
void allocate(aclrtStream stream) {
  aclrtMallocAttribute attribute = aclrtMallocAttribute();
  attribute.attr = ACL_RT_MEM_ATTR_MODULE_ID;
  attribute.value.moduleId = 33;
  aclrtMallocConfig config = {&attribute, 1};
  aclrtMallocConfig broken = {nullptr, 1};
  void* plain = nullptr;
  float* typed = nullptr;
  float* host = nullptr;
  EXPECT(aclrtMalloc(&plain, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  EXPECT(aclrtMalloc(&typed, 64, &config) == ACL_SUCCESS);
  EXPECT(aclrtMallocHost(&host, 64, &config) == ACL_SUCCESS);
  EXPECT(aclrtMemcpyAsync(plain, 64, typed, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  EXPECT(aclrtMemcpy(host, 64, plain, 64, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  EXPECT(aclrtFree(plain) == ACL_SUCCESS);
  EXPECT(aclrtFree(typed) == ACL_SUCCESS);
  EXPECT(aclrtFreeHost(host) == ACL_SUCCESS);
  EXPECT(aclrtMalloc(&typed, 64, &broken) == ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtMallocHost(&host, 64, &broken) == ACL_ERROR_INVALID_PARAM);
  attribute.value.vaFlag = 0;
  attribute.attr = ACL_RT_MEM_ATTR_VA_FLAG;
  EXPECT(aclrtMallocHost(&host, 64, &config) == ACL_SUCCESS);
  EXPECT(aclrtFreeHost(host) == ACL_SUCCESS);
  attribute.value.vaFlag = 1;
  EXPECT(aclrtMallocHost(&host, 64, &config) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT(aclrtMalloc(&typed, 64, &config) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  const int unknown = 77;
  std::memcpy(&attribute.attr, &unknown, sizeof unknown);
  EXPECT(aclrtMallocHost(&host, 64, &config) == ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtMalloc(&typed, 64, &config) == ACL_ERROR_INVALID_PARAM);
  const char* text = aclGetRecentErrMsg();
  EXPECT(text != nullptr && std::strstr(text, "cfg->attrs[0].attr is 77") != nullptr);
  EXPECT(aclrtMalloc(&typed, 0) == ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtMalloc(static_cast<float**>(nullptr), 64) == ACL_ERROR_INVALID_PARAM);
}

void count_call(void* calls) { ++*static_cast<int*>(calls); }

/// A stream that a callback holds back: limits run out until it is served, and nothing is lost.
void wait_with_limits() {
  aclrtStream stream = nullptr;
  aclrtStream follower = nullptr;
  aclrtEvent event = nullptr;
  EXPECT(aclrtCreateStream(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC) == ACL_SUCCESS);
  EXPECT(aclrtCreateStream(&follower) == ACL_SUCCESS);
  EXPECT(aclrtCreateEvent(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  EXPECT(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE) == ACL_SUCCESS);
  EXPECT(aclrtSetStreamFailureMode(stream, 7) == ACL_ERROR_INVALID_PARAM);
  EXPECT(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE) == ACL_ERROR_INVALID_PARAM);

  const uint64_t self = static_cast<uint64_t>(pthread_self());
  int calls = 0;
  EXPECT(aclrtSubscribeReport(self, stream) == ACL_SUCCESS);
  EXPECT(aclrtLaunchCallback(count_call, &calls, ACL_CALLBACK_BLOCK, stream) == ACL_SUCCESS);
  EXPECT(aclrtRecordEvent(event, stream) == ACL_SUCCESS);
  EXPECT(aclrtStreamWaitEvent(follower, event, 1) == ACL_SUCCESS);
  EXPECT(aclrtStreamWaitEvent(follower, event, -1) == ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtSynchronizeEvent(event, 20) == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT(aclrtSynchronizeEvent(event, -2) == ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtSynchronizeStream(follower, 20) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT(aclrtSynchronizeDevice(20) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT(aclrtSynchronizeDevice(-2) == ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(calls == 0);
  EXPECT(aclrtProcessReport(60000) == ACL_SUCCESS);
  EXPECT(calls == 1);
  EXPECT(aclrtSynchronizeEvent(event, 60000) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeDevice(60000) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeDevice(-1) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS);
  EXPECT(aclrtUnSubscribeReport(self, stream) == ACL_SUCCESS);
  EXPECT(aclrtDestroyEvent(event) == ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(follower) == ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
}

void set_limits() {
  uint64_t actual = 0;
  EXPECT(aclrtSetOpWaitTimeout(10) == ACL_SUCCESS);
  EXPECT(aclrtSetOpExecuteTimeOut(10) == ACL_SUCCESS);
  EXPECT(aclrtSetOpExecuteTimeOut(5000, &actual) == ACL_SUCCESS);
  EXPECT(actual == 5000);
  EXPECT(aclrtSetOpExecuteTimeOut(5000, nullptr) == ACL_ERROR_INVALID_PARAM);
}

}  // namespace

int main() {
  aclrtStream stream = nullptr;
  EXPECT(aclInit(nullptr) == ACL_SUCCESS);
  EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
  EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
  round_trip(stream, op::bfloat16(0.5f));
  round_trip(stream, op::Float8E4M3FN(1.0f));
  round_trip(stream, op::Float8E8M0(2.0f));
  round_trip(stream, 7);
  allocate(stream);
  wait_with_limits();
  set_limits();
  EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
  EXPECT(aclrtResetDevice(0) == ACL_SUCCESS);
  EXPECT(aclFinalize() == ACL_SUCCESS);
  EXPECT(mla_prolog_finding_count() == 0);
  return failures == 0 ? 0 : 1;
}
