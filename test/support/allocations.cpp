// Every allocation function of this process counts; a sanitizer's own hooks count where it has taken the functions
// over.
#include "test/support/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "test/support/sanitizers.hpp"

#define MLA_PROLOG_TEST_SANITIZED (MLA_PROLOG_TEST_ASAN || MLA_PROLOG_TEST_TSAN)

namespace {

std::atomic<long> count{0};
std::atomic<bool> refusing{false};
thread_local bool spared = false;

/// Counts; whether there shall be no memory.
[[maybe_unused]] bool refuse() {
  ++count;
  return refusing && !spared;
}

}  // namespace

#if MLA_PROLOG_TEST_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, std::size_t),
                                                         void (*free_hook)(const volatile void*));
#elif defined(__GLIBC__)
// Clang would keep them to this program, unseen by the libraries, with -fvisibility=hidden.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) { return refuse() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t number, std::size_t size) { return refuse() ? nullptr : __libc_calloc(number, size); }
void* realloc(void* old, std::size_t size) { return refuse() ? nullptr : __libc_realloc(old, size); }
void* memalign(std::size_t alignment, std::size_t size) {
  return refuse() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return refuse() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = refuse() ? nullptr : __libc_memalign(alignment, size);
  return *out == nullptr ? 12 /* ENOMEM */ : 0;
}
}
#pragma GCC visibility pop
#endif

namespace mla_prolog::test {

long allocations() { return count; }

RefusedAllocations::RefusedAllocations() {
  spared = true;
  refusing = true;
}
RefusedAllocations::~RefusedAllocations() { refusing = false; }

bool counts_allocations() {
#if MLA_PROLOG_TEST_SANITIZED
  static const bool installed =
      __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t) { ++count; },
                                                [](const volatile void*) {}) != 0;
  static_cast<void>(installed);
#endif
  // In a library's code, since it is libraries that are tested.
  const long before = count;
  char* volatile block = strdup("counted");
  std::free(block);
  return count > before;
}

}  // namespace mla_prolog::test
