// Large memory in large pages: page walks are a third of the time in which a core reads cold weights from small ones.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mla_prolog {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Asks for huge pages for memory that nobody has touched yet. It is advice: a system that has none says no, and small
// pages serve. No content changes, and errno may.
inline void advise_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHugePage * kHugePage;
  // Whole pages alone: what shares a page with them stays as it is.
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace mla_prolog
