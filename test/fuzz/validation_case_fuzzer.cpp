// Any text as a file of phase-one cases: an InputError or cases that can be judged.
#include <cstdlib>

#include "test/fuzz/entry.hpp"
#include "tools/cases/validation_case.hpp"
#include "tools/io/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mla_prolog;
  using namespace mla_prolog::tools;
  try {
    for (const ValidationCase& given : parse_validation_cases({reinterpret_cast<const char*>(data), size}, "fuzz")) {
      static_cast<void>(check(given.problem, {.domain = Domain::strict, .soc = given.soc, .api = ApiVersion::v3}));
    }
  } catch (const InputError& error) {
    if (error.cause().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
