#include "test/support/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"

namespace mla_prolog::test {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

template <typename T>
T named(const char* name, T fallback) {
  const std::string text = variable(name);
  if (text.empty()) return fallback;
  const auto value = parse<T>(text);
  if (!value) throw std::invalid_argument(std::string(name).append(": no such name as ").append(text));
  return *value;
}

std::uint64_t hash(const std::string& text) {
  std::uint64_t state = 0xCBF29CE484222325U;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return state;
}

}  // namespace

PlanOptions options_under_test() {
  PlanOptions options;
  options.backend = named("MLA_PROLOG_TEST_BACKEND", Backend::automatic);
  options.isa = named("MLA_PROLOG_TEST_ISA", Isa::automatic);
  const std::string threads = variable("MLA_PROLOG_TEST_THREADS");
  if (!threads.empty()) options.threads = std::stoi(threads);
  return options;
}

std::string options_unavailable() {
  const PlanOptions options = options_under_test();
  for (const BackendInfo& backend : list_backends()) {
    if (backend.backend == options.backend && !backend.available) return backend.reason;
  }
  for (const IsaInfo& isa : list_isas()) {
    if (isa.isa == options.isa && !isa.available) return isa.reason;
  }
  return {};
}

PlanOptions reference_options() {
  PlanOptions options;
  options.backend = Backend::reference;
  options.threads = 1;
  return options;
}

bool exact_for_all_products() {
  const PlanOptions options = options_under_test();
  if (options.isa != Isa::automatic) return options.isa != Isa::sse4_2;
  const std::string forced = variable("MLA_PROLOG_ISA");
  if (!forced.empty()) return forced != to_string(Isa::sse4_2);
  Isa best = Isa::scalar;
  for (const IsaInfo& isa : list_isas()) {
    if (isa.available) best = isa.isa;
  }
  return best != Isa::sse4_2;
}

void for_each_case(int share, const std::function<void(Rng&)>& property) {
  const std::string single = variable("MLA_PROLOG_CASE_SEED");
  const std::string scale = variable("MLA_PROLOG_PROPERTY_CASES");
  const int configured = scale.empty() ? 100 : std::stoi(scale);
  const int count = single.empty() ? std::max(1, configured * share / 100) : 1;
  Rng seeds(seed() ^ hash(Catch::getResultCapture().getCurrentTestName()));
  for (int i = 0; i < count; ++i) {
    const std::uint64_t case_seed = single.empty() ? seeds.next() : std::stoull(single, nullptr, 0);
    std::ostringstream text;
    text << "case " << i + 1 << " of " << count << "; repeat with MLA_PROLOG_CASE_SEED=0x" << std::hex << case_seed;
    INFO(text.str());
    Rng rng(case_seed);
    property(rng);
  }
}

}  // namespace mla_prolog::test
