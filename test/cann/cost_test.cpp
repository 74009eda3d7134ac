// Phase two and the wait for it allocate nothing, in the caller's thread or in the stream's.
#include "test/cann/device.hpp"
#include "test/cann/small_op.hpp"
#include "test/catch.hpp"
#include "test/support/allocations.hpp"

using mla_prolog::test::allocations;

namespace {

using mla_prolog::test::Device;

/// Of phase two and its synchronisation.
long allocations_of_phase_two(small_op::Op& op, aclrtStream stream) {
  const long before = allocations();
  const aclnnStatus status = op.phase_two(stream);
  const aclError done = aclrtSynchronizeStream(stream);
  const long after = allocations();
  REQUIRE(status == 0);
  REQUIRE(done == 0);
  return after - before;
}

}  // namespace

TEST_CASE("phase two allocates nothing") {
  if (!mla_prolog::test::counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  const Device device;
  small_op::Op op;
  // The first launch starts the stream's thread and its OpenMP team.
  REQUIRE(op.phase_one() == 0);
  allocations_of_phase_two(op, device.stream);
  for (int i = 0; i < 200; ++i) {
    REQUIRE(op.phase_one() == 0);
    CHECK(allocations_of_phase_two(op, device.stream) == 0);
  }
  REQUIRE(op.phase_one() == 0);
  REQUIRE(aclSetAclOpExecutorRepeatable(op.executor) == 0);
  for (int i = 0; i < 3; ++i) CHECK(allocations_of_phase_two(op, device.stream) == 0);
  REQUIRE(aclDestroyAclOpExecutor(op.executor) == 0);
}

TEST_CASE("phase two of a problem without tokens allocates nothing") {
  if (!mla_prolog::test::counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be counted with this C library");
  const Device device;
  small_op::Op op(std::vector<std::int64_t>{});
  for (int i = 0; i < 200; ++i) {
    REQUIRE(op.phase_one() == 0);
    CHECK(allocations_of_phase_two(op, device.stream) == 0);
  }
}
