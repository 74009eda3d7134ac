// Misuse of memory: wrong pointers, bounds, frees, leaks.
#include "test/cann/misuse.hpp"

namespace misuse {
namespace {

int host_as_device(bool wrong) {
  char host[64] = {};
  char other[64] = {};
  const Memory device(64);
  return copy_in(wrong ? static_cast<void*>(other) : device.p, 64, host, 64);
}

int device_as_host(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  const Memory second(64);
  return copy_in(device.p, 64, wrong ? second.p : host, 64);
}

int dereference(bool wrong) {
  const Memory device(64);
  char host[64] = {};
  return *static_cast<volatile char*>(wrong ? device.p : host);
}

int unallocated(bool wrong) {
  char host[64] = {};
  const Memory device(4096);
  return copy_in(wrong ? device.at(4096 + 16) : device.at(16), 64, host, 64);
}

int copy_past_end(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  return copy_in(device.at(wrong ? 32 : 0), 64, host, 64);
}

int dest_max(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  return copy_in(device.p, wrong ? 32 : 64, host, 64);
}

int pinned_past_end(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 32);
  const Memory device(64);
  const int status = aclrtMemcpy(host, 64, device.p, wrong ? 64 : 32, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtFreeHost(host);
  return status;
}

int memset_past_end(bool wrong) {
  const Memory device(64);
  return aclrtMemset(device.p, 128, 0, wrong ? 65 : 64);
}

int overlap(bool wrong) {
  const Memory device(256);
  return aclrtMemcpy(device.at(wrong ? 32 : 64), 64, device.p, 64, ACL_MEMCPY_DEVICE_TO_DEVICE);
}

int use_after_free(bool wrong) {
  char host[64] = {};
  Memory device(64);
  void* p = device.p;
  if (wrong) {
    aclrtFree(p);
    device.p = nullptr;
  }
  return copy_in(p, 64, host, 64);
}

int double_free(bool wrong) {
  void* p = nullptr;
  aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (wrong) aclrtFree(p);
  return aclrtFree(p);
}

int double_free_host(bool wrong) {
  void* p = nullptr;
  aclrtMallocHost(&p, 64);
  if (wrong) aclrtFreeHost(p);
  return aclrtFreeHost(p);
}

int inner_free(bool wrong) {
  Memory device(64);
  const int status = aclrtFree(device.at(wrong ? 16 : 0));
  if (!wrong) device.p = nullptr;
  return status;
}

int foreign_free(bool wrong) {
  if (!wrong) {
    Memory device(64);
    const int status = aclrtFree(device.p);
    device.p = nullptr;
    return status;
  }
  int local = 0;
  return aclrtFree(&local);
}

int free_of_host_memory(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 64);
  if (!wrong) return aclrtFreeHost(host);
  const int status = aclrtFree(host);
  if (status != 0) aclrtFreeHost(host);
  return status;
}

int guard(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 64);
  static_cast<volatile char*>(host)[wrong ? 64 : 63] = 1;
  return aclrtFreeHost(host);
}

int leak(bool wrong) {
  void* p = nullptr;
  aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (!wrong) aclrtFree(p);
  return wrong ? 1 : 0;
}

int use_after_host_free(bool wrong) {
  const Memory device(64);
  void* host = nullptr;
  aclrtMallocHost(&host, 64);
  if (wrong) aclrtFreeHost(host);
  const int status = aclrtMemcpy(host, 64, device.p, 64, ACL_MEMCPY_DEVICE_TO_HOST);
  if (!wrong) aclrtFreeHost(host);
  return status;
}

int host_leak(bool wrong) {
  void* p = nullptr;
  aclrtMallocHost(&p, 64);
  if (!wrong) aclrtFreeHost(p);
  return wrong ? 1 : 0;
}

}  // namespace

std::vector<Misuse> of_memory() {
  return {
      {"host_as_device", "host-pointer-as-device", host_as_device},
      {"device_as_host", "device-pointer-as-host", device_as_host},
      {"dereference", "device-pointer-as-host", dereference},
      {"unallocated", "invalid-device-pointer", unallocated},
      {"copy_past_end", "out-of-bounds", copy_past_end},
      {"dest_max", "out-of-bounds", dest_max},
      {"pinned_past_end", "out-of-bounds", pinned_past_end},
      {"memset_past_end", "out-of-bounds", memset_past_end},
      {"overlap", "overlapping-copy", overlap},
      {"use_after_free", "use-after-free", use_after_free},
      {"double_free", "double-free", double_free},
      {"double_free_host", "double-free", double_free_host},
      {"inner_free", "free-of-inner-pointer", inner_free},
      {"foreign_free", "free-of-foreign-pointer", foreign_free},
      {"free_of_host_memory", "free-of-foreign-pointer", free_of_host_memory},
      {"guard", "guard-overwritten", guard},
      {"leak", "leak", leak},
      {"use_after_host_free", "use-after-free", use_after_host_free},
      {"host_leak", "leak", host_leak},
  };
}

}  // namespace misuse
