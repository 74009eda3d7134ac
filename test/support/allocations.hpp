// Counts the allocations of the whole process. Whoever compiles allocations.cpp into its program replaces the C
// library's allocation functions.
#pragma once

namespace mla_prolog::test {

/// Allocations so far.
long allocations();

/// Whether they are counted: not with every C library.
bool counts_allocations();

/// For as long as it lives, threads other than this one get no memory. Not with a sanitizer.
struct RefusedAllocations {
  RefusedAllocations();
  ~RefusedAllocations();
  RefusedAllocations(const RefusedAllocations&) = delete;
  RefusedAllocations& operator=(const RefusedAllocations&) = delete;
};

}  // namespace mla_prolog::test
