// Phase two and the wait for it allocate nothing, in the caller's thread or in the stream's.
#include <pthread.h>

#include <cstring>

#include "aclnnop/aclnn_dynamic_quant.h"
#include "test/cann/device.hpp"
#include "test/cann/small_op.hpp"
#include "test/catch.hpp"
#include "test/support/allocations.hpp"
#include "test/support/sanitizers.hpp"

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

TEST_CASE("an operator that gets no memory fails, and the process goes on") {
  if (MLA_PROLOG_TEST_ASAN || MLA_PROLOG_TEST_TSAN) MLA_PROLOG_SKIP("a sanitizer has its own allocation functions");
  if (!mla_prolog::test::counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be refused with this C library");
  const Device device;
  void* memory = nullptr;
  REQUIRE(aclrtMalloc(&memory, 512, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
  REQUIRE(aclrtMemset(memory, 512, 0, 512) == 0);
  char* const scales = static_cast<char*>(memory) + 256;
  const std::int64_t shape[] = {2, 64};
  // Codes over what they are made from: that must be kept apart, and told.
  aclTensor* x = aclCreateTensor(shape, 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, shape, 2, memory);
  aclTensor* y = aclCreateTensor(shape, 2, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, shape, 2, memory);
  aclTensor* scale = aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, scales);
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  REQUIRE(aclnnDynamicQuantGetWorkspaceSize(x, nullptr, y, scale, &bytes, &executor) == 0);
  void* workspace = nullptr;
  REQUIRE(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
  int launched = -1;
  int done = -1;
  {
    const mla_prolog::test::RefusedAllocations refused;
    launched = aclnnDynamicQuant(workspace, bytes, executor, device.stream);
    done = aclrtSynchronizeStream(device.stream);
  }
  CHECK(launched == 0);
  CHECK(done == ACL_ERROR_RT_AICORE_EXCEPTION);
  const char* text = aclGetRecentErrMsg();
  REQUIRE(text != nullptr);
  CHECK(std::strstr(text, "the host has no memory") != nullptr);
  for (aclTensor* tensor : {x, y, scale}) CHECK(aclDestroyTensor(tensor) == 0);
  CHECK(aclrtFree(memory) == 0);
  CHECK(aclrtFree(workspace) == 0);
}

TEST_CASE("a stream that gets no memory for its work fails, and the process goes on") {
  if (MLA_PROLOG_TEST_ASAN || MLA_PROLOG_TEST_TSAN) MLA_PROLOG_SKIP("a sanitizer has its own allocation functions");
  if (!mla_prolog::test::counts_allocations()) MLA_PROLOG_SKIP("allocations cannot be refused with this C library");
  const Device device;
  const auto self = static_cast<std::uint64_t>(pthread_self());
  REQUIRE(aclrtSubscribeReport(self, device.stream) == 0);
  int calls = 0;
  int done = -1;
  {
    // Nobody processes them meanwhile, so the list of those that wait must grow.
    const mla_prolog::test::RefusedAllocations refused;
    for (int i = 0; i < 200; ++i) {
      aclrtLaunchCallback([](void* count) { ++*static_cast<int*>(count); }, &calls, ACL_CALLBACK_NO_BLOCK,
                          device.stream);
    }
    done = aclrtSynchronizeStream(device.stream);
  }
  CHECK(done == ACL_ERROR_RT_MEMORY_ALLOCATION);
  const char* text = aclGetRecentErrMsg();
  REQUIRE(text != nullptr);
  CHECK(std::strstr(text, "the host has no memory") != nullptr);
  while (aclrtProcessReport(0) == 0) {
  }
  CHECK(calls < 200);
  CHECK(aclrtUnSubscribeReport(self, device.stream) == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
}
