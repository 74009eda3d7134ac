#include "mla_prolog/version.hpp"

#include <string>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"

TEST_CASE("the library and its headers have the same version") {
  CHECK(std::string(mla_prolog::version()) == MLA_PROLOG_VERSION);
  CHECK(std::string(MLA_PROLOG_VERSION) == std::to_string(MLA_PROLOG_VERSION_MAJOR) + "." +
                                               std::to_string(MLA_PROLOG_VERSION_MINOR) + "." +
                                               std::to_string(MLA_PROLOG_VERSION_PATCH));
}
