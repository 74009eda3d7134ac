#include "runtime/scheduler/team.hpp"

#include <atomic>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__)
#include <pthread.h>
#endif

namespace mla_prolog {
namespace {

std::atomic<bool> forked_child{false};

#if defined(__unix__)
// From the library's loading on: the program may start OpenMP threads of its own, and fork, before it first calls us.
[[maybe_unused]] const int watching =
    pthread_atfork(nullptr, nullptr, [] { forked_child.store(true, std::memory_order_relaxed); });
#endif

}  // namespace

int available_threads() noexcept {
#if !defined(_OPENMP)
  return 1;
#elif defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask) > 0 ? CPU_COUNT(&mask) : 1;
  return omp_get_num_procs();
#else
  return omp_get_num_procs();
#endif
}

void initialise_runtime() noexcept {
#if defined(_OPENMP)
  static_cast<void>(omp_get_max_threads());
#endif
}

int team_size(int requested) noexcept {
#if defined(_OPENMP)
  if (omp_in_parallel() != 0 || forked_child.load(std::memory_order_relaxed)) return 1;
  return requested;
#else
  static_cast<void>(requested);
  return 1;
#endif
}

}  // namespace mla_prolog
