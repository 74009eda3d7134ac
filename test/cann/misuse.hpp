// One kind of misuse of the CANN interface and its correct twin, and what these share. C++11.
#pragma once

#include <vector>

#include "acl/acl.h"

namespace misuse {

struct Misuse {
  const char* name;
  const char* finding;     ///< that the wrong one must cause
  int (*run)(bool wrong);  ///< returns the status of the call in question; null: no aclInit
};

std::vector<Misuse> of_memory();
std::vector<Misuse> of_operators();
std::vector<Misuse> of_handles();

/// Ends with an operator queued, behind other work, that finds a bad index.
void end_with_work_queued();

/// For the running misuse.
extern aclrtStream stream;

struct Memory {
  explicit Memory(size_t bytes) { aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST); }
  ~Memory() {
    if (p != nullptr) aclrtFree(p);
  }
  char* at(size_t offset) const { return static_cast<char*>(p) + offset; }
  void* p = nullptr;
};

inline int copy_in(void* device, size_t max, const void* host, size_t count) {
  return aclrtMemcpy(device, max, host, count, ACL_MEMCPY_HOST_TO_DEVICE);
}

}  // namespace misuse
