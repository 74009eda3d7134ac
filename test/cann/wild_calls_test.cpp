// Random calls in any order, with handles that are alive, dead, of another kind, null or made up: every one returns.
// What is not among them are calls that must wait for ever, and host memory that is not there, which nobody could tell.
#include <array>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "mla_prolog_emulation.h"
#include "test/cann/small_op.hpp"
#include "test/catch.hpp"

namespace {

constexpr std::size_t kHostBytes = 4096;
constexpr std::size_t kThreads = 4;

/// Everything that was ever handed out, to any thread.
struct Handles {
  std::mutex mutex;
  std::vector<void*> all;
};

class WildCaller {
 public:
  /// The thread tells which host memory is its own.
  explicit WildCaller(std::uint64_t seed, Handles& handles, std::size_t thread = 0)
      : random_(seed), handles_(handles), host_(memory_[thread]) {}

  void call() {
    int status = 0;
    switch (below(42)) {
      case 0:
        status = below(20) == 0 ? aclFinalize() : 0;
        break;
      case 1:
        status = aclInit(nullptr);
        break;
      case 2:
        status = aclrtSetDevice(static_cast<std::int32_t>(below(10)) - 1);
        break;
      case 3:
        status = below(10) == 0 ? aclrtResetDevice(static_cast<std::int32_t>(below(3))) : aclrtSynchronizeDevice();
        break;
      case 4:
        status = below(10) == 0 ? aclrtResetDeviceForce(0) : 0;
        break;
      case 5:
        make(&aclrtCreateStream);
        break;
      case 6:
        status = below(2) == 0 ? aclrtDestroyStream(any()) : aclrtDestroyStreamForce(any());
        break;
      case 7:
        status = aclrtSynchronizeStream(any());
        break;
      case 8: {
        aclrtStreamStatus result{};
        status = aclrtStreamQuery(any(), below(8) == 0 ? nullptr : &result);
        break;
      }
      case 9:
        make(&aclrtCreateEvent);
        break;
      case 10:
        status = aclrtDestroyEvent(any());
        break;
      case 11:
      case 12:
        status = aclrtRecordEvent(any(), any());
        break;
      case 13:
        status = aclrtStreamWaitEvent(any(), any());
        break;
      case 14: {
        aclrtEventStatus result{};
        status = aclrtQueryEvent(any(), &result);
        break;
      }
      case 15: {
        float ms = 0;
        status = aclrtEventElapsedTime(&ms, any(), any());
        break;
      }
      case 16:
        status = aclrtResetEvent(any(), any());
        break;
      case 17:
        status = aclrtSynchronizeEvent(any());
        break;
      case 18:
      case 19:
      case 20: {
        void* p = nullptr;
        status = aclrtMalloc(&p, below(3 * kHostBytes), ACL_MEM_MALLOC_HUGE_FIRST);
        keep(p);
        break;
      }
      case 21: {
        void* p = nullptr;
        status = aclrtMallocHost(&p, kHostBytes);
        keep(p);
        break;
      }
      case 22:
        status = aclrtFree(any());
        break;
      case 23:
        status = aclrtFreeHost(any());
        break;
      case 24:
      case 25:
        status = aclrtMemcpy(data(), bytes(), data(), bytes(), kind());
        break;
      case 26:
      case 27:
        status = aclrtMemcpyAsync(data(), bytes(), data(), bytes(), kind(), any());
        break;
      case 28:
        status = aclrtMemset(data(), bytes(), 1, bytes());
        break;
      case 29:
        status = aclrtMemsetAsync(data(), bytes(), 1, bytes(), any());
        break;
      case 30: {
        const std::array<std::int64_t, 2> shape{2, 8};
        keep(aclCreateTensor(shape.data(), 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, shape.data(), 2, any()));
        break;
      }
      case 31:
        status = aclDestroyTensor(static_cast<aclTensor*>(any()));
        break;
      case 32:
        status = aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(any()));
        break;
      case 33:
        status = aclSetAclOpExecutorRepeatable(static_cast<aclOpExecutor*>(any()));
        break;
      case 34:
        status = aclSetTensorAddr(static_cast<aclOpExecutor*>(any()), below(30), static_cast<aclTensor*>(any()), any());
        break;
      case 35:
        status = aclnnMlaPrologV3WeightNz(any(), below(1 << 26), static_cast<aclOpExecutor*>(any()), any());
        break;
      case 36: {
        aclrtContext context = nullptr;
        status = below(2) == 0 ? aclrtCreateContext(&context, 0) : aclrtGetCurrentContext(&context);
        keep(context);
        break;
      }
      case 37:
        status = aclrtSynchronizeEventWithTimeout(any(), static_cast<std::int32_t>(below(4)) - 2);
        break;
      case 38:
        status = aclrtSynchronizeDeviceWithTimeout(static_cast<std::int32_t>(below(4)) - 2);
        break;
      case 39:
        status = aclrtStreamWaitEventWithTimeout(any(), any(), static_cast<std::int32_t>(below(4)) - 2);
        break;
      case 40:
        status = aclrtSetStreamFailureMode(any(), below(3));
        break;
      default:
        status = below(4) == 0 ? aclrtDestroyContext(any()) : aclrtSetCurrentContext(any());
        break;
    }
    if (status != 0) {
      ++refused;
      if (below(4) == 0) aclGetRecentErrMsg();
    }
  }

  void call_operator() {
    if (aclrtSetDevice(0) != 0) return;
    small_op::Op op({1});
    if (op.phase_one() == 0) keep(op.executor);
    for (int i = 0; i < 5; ++i) {
      if (below(2) == 0) call();
      op.executor = below(3) == 0 ? static_cast<aclOpExecutor*>(any()) : op.executor;
      op.phase_two(any());
    }
    for (small_op::Tensor* tensor : op.all()) keep(tensor->handle);
  }

  long refused = 0;

 private:
  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }
  aclrtMemcpyKind kind() { return static_cast<aclrtMemcpyKind>(below(8)); }
  /// What every host buffer has.
  std::size_t bytes() { return below(kHostBytes + 1); }

  void keep(void* handle) {
    const std::lock_guard lock(handles_.mutex);
    if (handle != nullptr) handles_.all.push_back(handle);
  }
  void make(aclError (*create)(void**)) {
    void* handle = nullptr;
    if (create(&handle) != 0) ++refused;
    keep(handle);
  }
  /// Anything that was ever handed out, of whatever kind and whether it is still alive; null; an address of nothing.
  void* any() {
    const std::lock_guard lock(handles_.mutex);
    const std::size_t count = handles_.all.size();
    const std::size_t choice = below(count + 3);
    if (choice < count) return handles_.all[choice];
    return choice == count ? static_cast<void*>(host_) : nullptr;
  }
  /// Memory that may be read and written where it is the host's: never what another allocator may have taken back.
  void* data() {
    if (below(2) == 0) return host_;
    void* p = any();
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto on_device = reinterpret_cast<std::uintptr_t>(device_sample_);
    constexpr std::uintptr_t kNear = std::uintptr_t{1} << 30;
    const bool device_address = on_device != 0 && address + kNear > on_device && address < on_device + kNear;
    return device_address || p == nullptr ? p : host_;
  }

  std::mt19937_64 random_;
  Handles& handles_;
  // Of the whole process: a stream that is never waited for may still copy when its caller is gone.
  static inline unsigned char memory_[kThreads][2 * kHostBytes] = {};
  unsigned char* host_;
  void* device_sample_ = [] {
    void* p = nullptr;
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST);
    return p;
  }();
};

/// After all that, a program that does it right gets its results.
void check_results() {
  REQUIRE(aclInit(nullptr) == 0);
  REQUIRE(aclrtSetDevice(0) == 0);
  aclrtStream stream = nullptr;
  REQUIRE(aclrtCreateStream(&stream) == 0);
  {
    small_op::Op op;
    const std::vector<unsigned char> before = op.read(op.query);
    REQUIRE(op.phase_one() == 0);
    REQUIRE(op.phase_two(stream) == 0);
    REQUIRE(aclrtSynchronizeStream(stream) == 0);
    CHECK(op.read(op.query) != before);
  }
  CHECK(aclrtDestroyStream(stream) == 0);
  aclrtResetDeviceForce(0);
  while (aclFinalize() == 0) continue;
}

}  // namespace

TEST_CASE("calls in any order with any handle return") {
  long refused = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    INFO("seed " << mla_prolog::test::seed() << ", round " << round);
    Handles handles;
    WildCaller caller(mla_prolog::test::seed() + round, handles);
    for (int i = 0; i < 500; ++i) caller.call();
    caller.call_operator();
    for (int i = 0; i < 100; ++i) caller.call();
    refused += caller.refused;
    aclrtResetDeviceForce(0);
    while (aclFinalize() == 0) continue;
  }
  CHECK(refused > 1000);
  check_results();
}

TEST_CASE("calls from several threads return, with handles of one another") {
  for (std::uint64_t round = 0; round < 10; ++round) {
    INFO("seed " << mla_prolog::test::seed() << ", round " << round);
    Handles handles;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        WildCaller caller(mla_prolog::test::seed() + 1000 * round + t, handles, t);
        for (int i = 0; i < 300; ++i) caller.call();
        caller.call_operator();
        for (int i = 0; i < 100; ++i) caller.call();
      });
    }
    for (std::thread& thread : threads) thread.join();
    aclrtResetDeviceForce(0);
    while (aclFinalize() == 0) continue;
  }
  check_results();
}
