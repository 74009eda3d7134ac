// The thread team: OpenMP where the build has it, one thread otherwise.
#pragma once

#include <cstdint>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace mla_prolog {

// Size of the affinity mask; 1 without OpenMP.
int available_threads() noexcept;

// Has the OpenMP runtime initialise itself, which may allocate and read files: for planning, so that `run` does
// neither.
void initialise_runtime() noexcept;

// How many of `requested` threads a team may have here and now: 1 inside a parallel region, and in a forked child,
// where libgomp cannot start its threads again.
int team_size(int requested) noexcept;

// Calls work(i, thread) for every i < count, spread over up to `threads` threads; thread < threads.
template <typename Work>
void parallel_for(std::int64_t count, [[maybe_unused]] int threads, Work work) noexcept {
#if defined(_OPENMP)
  const int team = team_size(threads);
  if (team > 1 && count > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (std::int64_t i = 0; i < count; ++i) work(i, omp_get_thread_num());
    return;
  }
#endif
  for (std::int64_t i = 0; i < count; ++i) work(i, 0);
}

}  // namespace mla_prolog
