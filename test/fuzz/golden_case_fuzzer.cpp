// Any text as a golden case: an InputError or a case whose problem can be described.
#include <cstdlib>

#include "test/fuzz/entry.hpp"
#include "tools/cases/golden_case.hpp"
#include "tools/io/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mla_prolog;
  using namespace mla_prolog::tools;
  try {
    const GoldenCase golden = parse_golden_case({reinterpret_cast<const char*>(data), size}, "fuzz");
    const Problem problem = golden_problem(golden, true, "fuzz");
    static_cast<void>(check(problem, {.domain = Domain::relaxed, .soc = Soc::automatic, .api = ApiVersion::v3}));
  } catch (const InputError& error) {
    if (error.cause().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
