// Runs a test executable: prints the seed, and tells ctest when every test case was skipped.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include <cstdlib>
#include <iostream>
#include <random>

#include "test/catch.hpp"

namespace mla_prolog::test {
namespace {

constexpr std::uint64_t kDefaultSeed = 20240607;
constexpr int kAllSkipped = 4;  // ctest's SKIP_RETURN_CODE

std::uint64_t choose_seed() {
  const char* text = std::getenv("MLA_PROLOG_SEED");
  if (text == nullptr || *text == '\0') return kDefaultSeed;
  if (std::string(text) == "random") return std::random_device{}();
  return std::strtoull(text, nullptr, 0);
}

int skips = 0;

std::filesystem::path from_environment(const char* variable, const char* fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? text : fallback;
}

}  // namespace

std::uint64_t seed() {
  static const std::uint64_t chosen = choose_seed();
  return chosen;
}

std::filesystem::path shared_dir() { return from_environment("MLA_PROLOG_SHARED", MLA_PROLOG_SHARED_DIR); }

std::filesystem::path data_dir() { return MLA_PROLOG_TEST_DATA_DIR; }

void note_skip(const std::string& reason) {
  ++skips;
  std::cout << "SKIPPED " << Catch::getResultCapture().getCurrentTestName() << ": " << reason << std::endl;
}

namespace {

// Counts the test cases that ran, so that "all skipped" can be told from "some skipped".
int cases = 0;

#if __has_include(<catch2/catch_all.hpp>)
class CaseCounter : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& /*info*/) override { ++cases; }
};
#else
class CaseCounter : public Catch::TestEventListenerBase {
 public:
  using Catch::TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& /*info*/) override { ++cases; }
};
#endif
CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace
}  // namespace mla_prolog::test

int main(int argc, char* argv[]) {
  using namespace mla_prolog::test;
  std::cout << "seed " << seed() << " (repeat with MLA_PROLOG_SEED=" << seed() << ")" << std::endl;
  // Catch returns the number of failures, of which there may be kAllSkipped.
  if (Catch::Session().run(argc, argv) != 0) return EXIT_FAILURE;
  return cases > 0 && skips == cases ? kAllSkipped : EXIT_SUCCESS;
}
