// Misuse of devices, streams, events and tensor handles.
#include <pthread.h>

#include <cstdint>
#include <thread>

#include "aclnn/acl_meta.h"
#include "test/cann/misuse.hpp"

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
      {"no_device", "missing-device", no_device},
  };
}

}  // namespace misuse
