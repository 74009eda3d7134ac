// Texts about the machine.
#include "tools/run/machine.hpp"

#include "test/catch.hpp"

using namespace mla_prolog::tools;

TEST_CASE("processor lists are written as ranges") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text({3}) == "3");
  CHECK(ranges_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
}

TEST_CASE("this process may run somewhere, on a processor with a name") {
  CHECK_FALSE(affinity().empty());
  CHECK_FALSE(cpu_name().empty());
}
