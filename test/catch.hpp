// What every test includes: Catch2 of either major version, and the helpers that main.cpp defines.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstdint>
#include <filesystem>
#include <string>

namespace mla_prolog::test {

/// The seed of this run, for all random data: MLA_PROLOG_SEED, which is a number or "random", else a fixed one. It is
/// printed first, so a failure can be repeated.
std::uint64_t seed();

/// Golden cases and case tables: MLA_PROLOG_SHARED, else the folder the build was given. May not exist.
std::filesystem::path shared_dir();

/// The committed test data.
std::filesystem::path data_dir();

/// Notes that the running test case was skipped. Use MLA_PROLOG_SKIP.
void note_skip(const std::string& reason);

}  // namespace mla_prolog::test

/// Leaves the test case and reports it as skipped with a reason.
#define MLA_PROLOG_SKIP(reason)            \
  do {                                     \
    ::mla_prolog::test::note_skip(reason); \
    return;                                \
  } while (false)
