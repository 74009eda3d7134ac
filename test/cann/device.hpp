// A program's device and stream. At its end, the proof that nothing was found wrong but what the test did on purpose.
#pragma once

#include <cstdint>

#include "acl/acl.h"
#include "mla_prolog_emulation.h"
#include "test/catch.hpp"

namespace mla_prolog::test {

struct Device {
  Device() {
    REQUIRE(aclInit(nullptr) == 0);
    REQUIRE(aclrtSetDevice(0) == 0);
    REQUIRE(aclrtCreateStream(&stream) == 0);
  }
  ~Device() {
    CHECK(aclrtDestroyStream(stream) == 0);
    CHECK(aclrtResetDevice(0) == 0);
    CHECK(aclFinalize() == 0);
    CHECK(mla_prolog_finding_count() - findings == expected_findings);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  aclrtStream stream = nullptr;
  std::uint64_t findings = mla_prolog_finding_count();
  std::uint64_t expected_findings = 0;
};

}  // namespace mla_prolog::test
