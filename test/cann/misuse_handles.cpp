// Misuse of devices, streams, events and tensor handles.
#include <pthread.h>

#include <cstdint>
#include <thread>

#include "aclnn/acl_meta.h"
#include "test/cann/misuse.hpp"
#include "test/cann/small_op.hpp"

namespace misuse {
namespace {

int stream_race(bool wrong) {
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  aclrtCreateStream(&other);
  aclrtCreateEvent(&event);
  const Memory device(64);
  aclrtMemsetAsync(device.p, 64, 1, 64, stream);
  if (!wrong) {
    aclrtRecordEvent(event, stream);
    aclrtStreamWaitEvent(other, event);
  }
  const int status = aclrtMemsetAsync(device.p, 64, 2, 64, other);
  aclrtSynchronizeDevice();
  aclrtDestroyEvent(event);
  aclrtDestroyStream(other);
  return status;
}

int free_in_use(bool wrong) {
  Memory device(1 << 20);
  aclrtMemsetAsync(device.p, 1 << 20, 1, 1 << 20, stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  const int status = aclrtFree(device.p);
  aclrtSynchronizeStream(stream);
  if (status == 0) device.p = nullptr;
  return status;
}

int destroy_busy_stream(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  const Memory device(64);
  aclrtMemsetAsync(device.p, 64, 1, 64, other);
  if (!wrong) aclrtSynchronizeStream(other);
  const int status = aclrtDestroyStream(other);
  if (status != 0) {
    aclrtSynchronizeStream(other);
    aclrtDestroyStream(other);
  }
  return status;
}

int destroy_with_callback(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  aclrtSubscribeReport(self, other);
  aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, other);
  if (!wrong) {
    aclrtProcessReport(-1);
    aclrtSynchronizeStream(other);
  }
  const int status = aclrtDestroyStream(other);
  if (status != 0) aclrtDestroyStreamForce(other);
  return status;
}

int stale_stream(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  if (wrong) aclrtDestroyStream(other);
  const int status = aclrtSynchronizeStream(other);
  if (!wrong) aclrtDestroyStream(other);
  return status;
}

int stale_event(bool wrong) {
  aclrtEvent event = nullptr;
  aclrtCreateEvent(&event);
  if (wrong) aclrtDestroyEvent(event);
  const int status = aclrtRecordEvent(event, stream);
  aclrtSynchronizeStream(stream);
  if (!wrong) aclrtDestroyEvent(event);
  return status;
}

int tensor_destroyed_twice(bool wrong) {
  const int64_t dim = 4;
  aclTensor* tensor = aclCreateTensor(&dim, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
  if (wrong) aclDestroyTensor(tensor);
  return aclDestroyTensor(tensor);
}

int stream_leak(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  if (!wrong) aclrtDestroyStream(other);
  return wrong ? 1 : 0;
}

int context_leak(bool wrong) {
  aclrtContext first = nullptr;
  aclrtContext second = nullptr;
  aclrtGetCurrentContext(&first);
  aclrtCreateContext(&second, 0);
  if (!wrong) aclrtDestroyContext(second);
  aclrtSetCurrentContext(first);
  return wrong ? 1 : 0;
}

int device_leak(bool wrong) {
  aclrtSetDevice(1);
  if (!wrong) aclrtResetDevice(1);
  aclrtSetDevice(0);
  return wrong ? 1 : 0;
}

int no_device(bool wrong) {
  int status = 0;
  std::thread thread([&] {
    if (!wrong) aclrtSetDevice(0);
    void* p = nullptr;
    status = aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    if (status == 0) aclrtFree(p);
    if (!wrong) aclrtResetDevice(0);
  });
  thread.join();
  return status;
}

/// Runs on a thread that has the device only when it is right to.
template <typename F>
int on_thread(bool wrong, F&& body) {
  int status = 0;
  std::thread thread([&] {
    if (!wrong) aclrtSetDevice(0);
    status = body();
    if (!wrong) aclrtResetDevice(0);
  });
  thread.join();
  return status;
}

int stream_without_context(bool wrong) {
  return on_thread(wrong, [] { return aclrtSynchronizeStream(stream); });
}

int operator_without_context(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const int status = on_thread(wrong, [&] { return op.phase_two(stream); });
  aclrtSynchronizeStream(stream);
  if (status != 0) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int free_without_context(bool wrong) {
  Memory device(64);
  const int status = on_thread(wrong, [&] { return aclrtFree(device.p); });
  if (status == 0) device.p = nullptr;
  return status;
}

int stream_of_other_context(bool wrong) {
  const Memory device(64);
  aclrtContext first = nullptr;
  aclrtContext second = nullptr;
  aclrtGetCurrentContext(&first);
  aclrtCreateContext(&second, 0);
  if (!wrong) aclrtSetCurrentContext(first);
  const int status = aclrtMemsetAsync(device.p, 64, 1, 64, stream);
  aclrtSetCurrentContext(first);
  aclrtSynchronizeStream(stream);
  aclrtDestroyContext(second);
  return status;
}

int stream_of_destroyed_context(bool wrong) {
  aclrtContext first = nullptr;
  aclrtContext second = nullptr;
  aclrtStream other = nullptr;
  aclrtGetCurrentContext(&first);
  aclrtCreateContext(&second, 0);
  aclrtCreateStream(&other);
  if (!wrong) {
    const int status = aclrtSynchronizeStream(other);
    aclrtDestroyStream(other);
    aclrtDestroyContext(second);
    aclrtSetCurrentContext(first);
    return status;
  }
  aclrtDestroyContext(second);
  aclrtSetCurrentContext(first);
  return aclrtSynchronizeStream(other);
}

int memory_of_reset_device(bool wrong) {
  aclrtSetDevice(1);
  void* p = nullptr;
  aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (!wrong) aclrtFree(p);
  aclrtResetDevice(1);
  aclrtSetDevice(0);
  return wrong ? 1 : 0;
}

}  // namespace

std::vector<Misuse> of_handles() {
  return {
      {"no_init", "missing-init", nullptr},
      {"stream_race", "stream-race", stream_race},
      {"free_in_use", "free-while-in-use", free_in_use},
      {"destroy_busy_stream", "destroyed-while-in-use", destroy_busy_stream},
      {"destroy_with_callback", "destroyed-while-in-use", destroy_with_callback},
      {"stale_stream", "invalid-handle", stale_stream},
      {"stale_event", "invalid-handle", stale_event},
      {"tensor_destroyed_twice", "invalid-handle", tensor_destroyed_twice},
      {"stream_leak", "leak", stream_leak},
      {"stream_without_context", "missing-device", stream_without_context},
      {"operator_without_context", "missing-device", operator_without_context},
      {"free_without_context", "missing-device", free_without_context},
      {"stream_of_other_context", "invalid-handle", stream_of_other_context},
      {"stream_of_destroyed_context", "invalid-handle", stream_of_destroyed_context},
      {"memory_of_reset_device", "leak", memory_of_reset_device},
      {"context_leak", "leak", context_leak},
      {"device_leak", "leak", device_leak},
      {"no_device", "missing-device", no_device},
  };
}

}  // namespace misuse
