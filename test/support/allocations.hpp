// Counts the allocations of the whole process. Whoever compiles allocations.cpp into its program replaces the C
// library's allocation functions.
#pragma once

namespace mla_prolog::test {

/// Allocations so far.
long allocations();

/// Whether they are counted: not with every C library.
bool counts_allocations();

}  // namespace mla_prolog::test
