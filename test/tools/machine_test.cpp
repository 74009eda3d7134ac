// Texts about the machine.
#include "tools/run/machine.hpp"

#include <cstdio>
#include <fstream>

#include "test/catch.hpp"
#include "test/support/sanitizers.hpp"
#include "tools/io/buffer.hpp"

using namespace mla_prolog::tools;

namespace {

/// What the system notes of the mapping that holds `address`, "rd wr mr ..."; empty when it has no notes.
std::string mapping_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with("VmFlags: ")) {
      return line.substr(9);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("processor lists are written as ranges") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text({3}) == "3");
  CHECK(ranges_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
}

TEST_CASE("this process may run somewhere, on a processor with a name") {
  CHECK_FALSE(affinity().empty());
  CHECK_FALSE(cpu_name().empty());
}

TEST_CASE("large buffers ask for huge pages") {
  if (huge_pages().empty()) MLA_PROLOG_SKIP("this system has no huge pages on demand");
  if (MLA_PROLOG_TEST_ASAN || MLA_PROLOG_TEST_TSAN) MLA_PROLOG_SKIP("a sanitizer has its own allocation functions");
  const Buffer large = Buffer::zeros(std::size_t{64} << 20);
  const std::string flags = mapping_flags(large.bytes().data() + large.size() / 2);
  if (flags.empty()) MLA_PROLOG_SKIP("this system does not tell the state of mappings");
  CHECK(flags.find("hg") != std::string::npos);
}
