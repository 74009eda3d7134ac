// Streams, events, contexts and executors in their asynchronous life. Runs under the thread sanitizer.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "mla_prolog_emulation.h"
#include "test/cann/device.hpp"
#include "test/cann/small_op.hpp"
#include "test/catch.hpp"
#include "test/support/sanitizers.hpp"

namespace {

using mla_prolog::test::Device;

struct DeviceBytes {
  explicit DeviceBytes(std::size_t bytes) { REQUIRE(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0); }
  ~DeviceBytes() { CHECK(aclrtFree(p) == 0); }
  void* p = nullptr;
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Serves a stream's callbacks on a thread of its own.
class CallbackThread {
 public:
  explicit CallbackThread(aclrtStream stream) : stream_(stream) {
    thread_ = std::thread([this] {
      id_ = static_cast<std::uint64_t>(pthread_self());
      while (!stop_) aclrtProcessReport(10);
    });
    while (id_ == 0) sleep_ms(1);
    REQUIRE(aclrtSubscribeReport(id_, stream_) == 0);
  }
  ~CallbackThread() {
    CHECK(aclrtUnSubscribeReport(id_, stream_) == 0);
    stop_ = true;
    thread_.join();
  }

 private:
  aclrtStream stream_;
  std::atomic<std::uint64_t> id_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Holds a stream until it is opened.
class Gate {
 public:
  void close(aclrtStream stream) {
    REQUIRE(aclrtLaunchCallback(
                [](void* self) {
                  while (!static_cast<Gate*>(self)->open_) sleep_ms(1);
                },
                this, ACL_CALLBACK_BLOCK, stream) == 0);
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace

TEST_CASE("work on a stream runs in order, and later than the call") {
  Device device;
  const CallbackThread callbacks(device.stream);
  const DeviceBytes memory(1024);
  std::vector<unsigned char> host(1024, 0);
  Gate gate;
  gate.close(device.stream);
  for (int value = 1; value <= 5; ++value) {
    REQUIRE(aclrtMemsetAsync(memory.p, 1024, value, 1024, device.stream) == 0);
  }
  REQUIRE(aclrtMemcpyAsync(host.data(), host.size(), memory.p, 1024, ACL_MEMCPY_DEVICE_TO_HOST, device.stream) == 0);
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  REQUIRE(aclrtStreamQuery(device.stream, &status) == 0);
  CHECK(status == ACL_STREAM_STATUS_NOT_READY);
  CHECK(aclrtSynchronizeStreamWithTimeout(device.stream, 1) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK(aclrtSynchronizeStreamWithTimeout(device.stream, -2) == ACL_ERROR_RT_PARAM_INVALID);
  gate.open();
  REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  REQUIRE(aclrtStreamQuery(device.stream, &status) == 0);
  CHECK(status == ACL_STREAM_STATUS_COMPLETE);
  CHECK(host == std::vector<unsigned char>(1024, 5));
}

TEST_CASE("an event orders two streams and takes the time") {
  Device device;
  aclrtStream other = nullptr;
  REQUIRE(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_FAST_LAUNCH) == 0);
  aclrtEvent start = nullptr;
  aclrtEvent end = nullptr;
  REQUIRE(aclrtCreateEvent(&start) == 0);
  REQUIRE(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE) == 0);
  float ms = -1;
  CHECK(aclrtEventElapsedTime(&ms, start, end) == ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  {
    const CallbackThread callbacks(device.stream);
    const DeviceBytes memory(64);
    Gate gate;
    REQUIRE(aclrtRecordEvent(start, device.stream) == 0);
    REQUIRE(aclrtSynchronizeEvent(start) == 0);  // so that the sleep below lies after it
    gate.close(device.stream);
    REQUIRE(aclrtMemsetAsync(memory.p, 64, 1, 64, device.stream) == 0);
    REQUIRE(aclrtRecordEvent(end, device.stream) == 0);
    REQUIRE(aclrtStreamWaitEvent(other, end) == 0);
    REQUIRE(aclrtMemsetAsync(memory.p, 64, 2, 64, other) == 0);

    aclrtEventStatus status = ACL_EVENT_STATUS_COMPLETE;
    REQUIRE(aclrtQueryEvent(end, &status) == 0);
    CHECK(status == ACL_EVENT_STATUS_NOT_READY);
    CHECK(aclrtEventElapsedTime(&ms, start, end) == ACL_ERROR_RT_EVENT_NOT_COMPLETE);
    sleep_ms(5);
    gate.open();
    REQUIRE(aclrtSynchronizeStream(other) == 0);
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    REQUIRE(aclrtQueryEventStatus(end, &recorded) == 0);
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    REQUIRE(aclrtEventElapsedTime(&ms, start, end) == 0);
    CHECK(ms >= 5.0F);
    CHECK(aclrtEventElapsedTime(&ms, end, start) == ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
    std::array<unsigned char, 64> host{};
    REQUIRE(aclrtMemcpy(host.data(), 64, memory.p, 64, ACL_MEMCPY_DEVICE_TO_HOST) == 0);
    CHECK(host[0] == 2);
  }
  CHECK(aclrtDestroyEvent(start) == 0);
  CHECK(aclrtDestroyEvent(end) == 0);
  CHECK(aclrtDestroyStream(other) == 0);
}

TEST_CASE("memory that is freed while the host waits to touch it stays until it has") {
  Device device;
  const CallbackThread callbacks(device.stream);
  const DeviceBytes busy(64);
  void* freed = nullptr;
  REQUIRE(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
  Gate gate;
  gate.close(device.stream);
  std::atomic<int> status{-1};
  const auto on_thread = [&](auto&& touch) {
    return std::thread([&status, touch] {
      aclrtSetDevice(0);
      status = touch();
    });
  };
  std::thread thread;
  // The finding comes before the wait.
  SECTION("a copy") {
    device.expected_findings = 1;
    REQUIRE(aclrtMemsetAsync(busy.p, 64, 1, 64, device.stream) == 0);
    thread = on_thread([&] { return aclrtMemcpy(freed, 64, busy.p, 64, ACL_MEMCPY_DEVICE_TO_DEVICE); });
  }
  SECTION("a fill") {
    device.expected_findings = 2;  // it is also freed while in use
    REQUIRE(aclrtMemsetAsync(freed, 64, 1, 64, device.stream) == 0);
    thread = on_thread([&] { return aclrtMemset(freed, 64, 2, 64); });
  }
  while (mla_prolog_finding_count() == device.findings) sleep_ms(1);
  CHECK(aclrtFree(freed) == 0);
  gate.open();
  thread.join();
  CHECK(status == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
}

TEST_CASE("waiting for an event is enough to use what lies before it") {
  Device device;
  const DeviceBytes memory(64);
  aclrtEvent event = nullptr;
  REQUIRE(aclrtCreateEvent(&event) == 0);
  REQUIRE(aclrtMemsetAsync(memory.p, 64, 7, 64, device.stream) == 0);
  REQUIRE(aclrtRecordEvent(event, device.stream) == 0);
  REQUIRE(aclrtSynchronizeEvent(event) == 0);
  std::array<unsigned char, 64> host{};
  REQUIRE(aclrtMemcpy(host.data(), 64, memory.p, 64, ACL_MEMCPY_DEVICE_TO_HOST) == 0);
  CHECK(host[63] == 7);
  CHECK(aclrtDestroyEvent(event) == 0);
}

TEST_CASE("several threads feed one stream, more than its queue holds") {
  Device device;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  const DeviceBytes memory(kThreads * sizeof(int));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      aclrtSetDevice(0);
      for (int i = 0; i < kEach; ++i) {
        aclrtMemsetAsync(static_cast<int*>(memory.p) + t, sizeof(int), i % 128, sizeof(int), device.stream);
      }
      aclrtResetDevice(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(aclrtSynchronizeDevice() == 0);
  std::array<unsigned char, kThreads * sizeof(int)> host{};
  REQUIRE(aclrtMemcpy(host.data(), host.size(), memory.p, host.size(), ACL_MEMCPY_DEVICE_TO_HOST) == 0);
  for (const unsigned char byte : host) CHECK(byte == (kEach - 1) % 128);
}

TEST_CASE("phase two runs on another thread, as a plug-in's task queue does") {
  Device device;
  small_op::Op op;
  REQUIRE(op.phase_one() == 0);
  aclnnStatus status = -1;
  aclrtContext context = nullptr;
  REQUIRE(aclrtGetCurrentContext(&context) == 0);
  std::thread([&] {
    if (aclrtSetCurrentContext(context) == 0) status = op.phase_two(device.stream);
  }).join();
  CHECK(status == 0);
  REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  CHECK(op.read(op.query) != std::vector<unsigned char>(op.query.bytes, 0xA5));
}

TEST_CASE("a repeatable executor runs again, with other addresses") {
  Device device;
  small_op::Op op;
  const DeviceBytes second_query(op.query.bytes);
  REQUIRE(op.phase_one() == 0);
  REQUIRE(aclSetAclOpExecutorRepeatable(op.executor) == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  REQUIRE(aclSetOutputTensorAddr(op.executor, 0, op.query.handle, second_query.p) == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  REQUIRE(aclDestroyAclOpExecutor(op.executor) == 0);
  REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  std::vector<unsigned char> again(op.query.bytes);
  REQUIRE(aclrtMemcpy(again.data(), again.size(), second_query.p, again.size(), ACL_MEMCPY_DEVICE_TO_HOST) == 0);
  CHECK(again == op.read(op.query));
}

TEST_CASE("of two threads that launch, or destroy, one executor one is the first") {
  Device device;
  aclrtStream other = nullptr;
  REQUIRE(aclrtCreateStream(&other) == 0);
  {
    small_op::Op op({1});
    REQUIRE(op.phase_one() == 0);
    REQUIRE(op.phase_two(device.stream) == 0);
    REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
    const auto expected = op.read(op.query);
    enum class Race { launches, destructions, both };
    for (int round = 0; round < 60; ++round) {
      for (const Race race : {Race::launches, Race::destructions, Race::both}) {
        REQUIRE(op.phase_one() == 0);
        std::atomic<int> waiting{2};
        const auto contend = [&](bool launches, aclrtStream stream) {
          aclrtSetDevice(0);
          --waiting;
          while (waiting > 0) continue;
          return launches ? op.phase_two(stream) : aclDestroyAclOpExecutor(op.executor);
        };
        std::array<int, 2> status{-1, -1};
        std::thread first([&] { status[0] = contend(race != Race::destructions, device.stream); });
        std::thread second([&] { status[1] = contend(race == Race::launches, other); });
        first.join();
        second.join();
        REQUIRE(aclrtSynchronizeDevice() == 0);
        std::sort(status.begin(), status.end());
        CHECK(status == std::array<int, 2>{0, ACLNN_ERR_PARAM_INVALID});
        // That it ran twice, on two streams, would be a finding, too.
        ++device.expected_findings;
        CHECK(mla_prolog_finding_count() - device.findings == device.expected_findings);
      }
      CHECK(op.read(op.query) == expected);
    }
  }
  CHECK(aclrtDestroyStream(other) == 0);
}

TEST_CASE("of two threads that destroy one object one is the first") {
  Device device;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t dim = 4;
    aclTensor* tensor = aclCreateTensor(&dim, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    REQUIRE(aclrtCreateStream(&stream) == 0);
    REQUIRE(aclrtCreateEvent(&event) == 0);
    std::atomic<int> waiting{2};
    std::array<std::array<int, 2>, 3> status{};
    const auto destroy = [&](std::size_t i) {
      aclrtSetDevice(0);
      --waiting;
      while (waiting > 0) continue;
      status[0][i] = aclDestroyTensor(tensor);
      status[1][i] = aclrtDestroyStream(stream);
      status[2][i] = aclrtDestroyEvent(event);
    };
    std::thread first([&] { destroy(0); });
    std::thread second([&] { destroy(1); });
    first.join();
    second.join();
    for (auto& pair : status) std::sort(pair.begin(), pair.end());
    CHECK(status[0] == std::array<int, 2>{0, ACLNN_ERR_PARAM_INVALID});
    CHECK(status[1] == std::array<int, 2>{0, ACL_ERROR_RT_INVALID_HANDLE});
    CHECK(status[2] == std::array<int, 2>{0, ACL_ERROR_RT_INVALID_HANDLE});
  }
  device.expected_findings = 600;
}

TEST_CASE("work that waits for room in the queue of a stream is refused when the stream is destroyed") {
  Device device;
  device.expected_findings = 1;
  constexpr int kMore = 300;  // than a queue holds
  const DeviceBytes memory(16);
  aclrtStream other = nullptr;
  REQUIRE(aclrtCreateStream(&other) == 0);
  REQUIRE(aclrtSubscribeReport(static_cast<std::uint64_t>(pthread_self()), other) == 0);
  REQUIRE(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_BLOCK, other) == 0);
  std::atomic<int> queued{0};
  std::atomic<int> refused{0};
  std::thread producer([&] {
    aclrtSetDevice(0);
    for (int i = 0; i < kMore && refused == 0; ++i) {
      const int status = aclrtMemsetAsync(memory.p, 16, 1, 16, other);
      if (status == 0) ++queued;
      if (status != 0) refused = status;
    }
  });
  // The producer stands in a call, or is about to make it: the answer is the same.
  int before = -1;
  while (before != queued || before == 0) {
    before = queued;
    sleep_ms(20);
  }
  CHECK(aclrtDestroyStreamForce(other) == 0);
  producer.join();
  CHECK(queued == before);
  CHECK(refused == ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_CASE("a weight with gaps between its groups is made contiguous") {
  Device device;
  small_op::Op op;
  REQUIRE(op.phase_one() == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  const auto expected = op.read(op.query);

  // Every second group of a buffer that holds other values between them.
  constexpr std::int64_t kGroup = 64 * 16 * 16;
  const std::array<std::int64_t, 4> shape{96, 64, 16, 16};
  const std::array<std::int64_t, 4> strides{2 * kGroup, 256, 16, 1};
  std::vector<std::uint16_t> host(2 * 96 * kGroup, 0x4000);
  for (std::int64_t group = 0; group < 96; ++group) {
    std::fill_n(host.begin() + 2 * group * kGroup, kGroup, std::uint16_t{0x3E80});
  }
  const DeviceBytes memory(host.size() * 2);
  REQUIRE(aclrtMemcpy(memory.p, host.size() * 2, host.data(), host.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE) == 0);
  aclDestroyTensor(op.weight_dq.handle);
  op.weight_dq.handle =
      aclCreateTensor(shape.data(), 4, ACL_BF16, strides.data(), 0, ACL_FORMAT_FRACTAL_NZ, shape.data(), 4, memory.p);
  REQUIRE(op.phase_one() == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  CHECK(op.read(op.query) == expected);
}

TEST_CASE("tensor objects may go before phase two") {
  Device device;
  small_op::Op op;
  REQUIRE(op.phase_one() == 0);
  for (small_op::Tensor* tensor : op.all()) {
    REQUIRE(aclDestroyTensor(tensor->handle) == 0);
    tensor->handle = nullptr;
  }
  REQUIRE(op.phase_two(device.stream) == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
}

TEST_CASE("two streams compute at the same time") {
  Device device;
  aclrtStream other = nullptr;
  REQUIRE(aclrtCreateStream(&other) == 0);
  {
    small_op::Op first;
    small_op::Op second;
    for (int i = 0; i < 3; ++i) {
      REQUIRE(first.phase_one() == 0);
      REQUIRE(second.phase_one() == 0);
      REQUIRE(first.phase_two(device.stream) == 0);
      REQUIRE(second.phase_two(other) == 0);
    }
    REQUIRE(aclrtSynchronizeDevice() == 0);
    CHECK(first.read(first.query) == second.read(second.query));
    CHECK(first.read(first.kv_cache) == second.read(second.kv_cache));
  }
  CHECK(aclrtDestroyStream(other) == 0);
}

TEST_CASE("a failure of queued work is reported once, and what follows runs") {
  Device device;
  device.expected_findings = 1;
  small_op::Op op({0, 1000});
  const std::vector<unsigned char> before = op.read(op.query);
  REQUIRE(op.phase_one() == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == ACL_ERROR_RT_AICORE_EXCEPTION);
  const char* text = aclGetRecentErrMsg();
  REQUIRE(text != nullptr);
  CHECK(std::string(text).find("cache_index") != std::string::npos);
  CHECK(aclGetRecentErrMsg() == nullptr);
  CHECK(op.read(op.query) == before);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);

  op.set_slots({0, 1});
  REQUIRE(op.phase_one() == 0);
  REQUIRE(op.phase_two(device.stream) == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
  CHECK(op.read(op.query) != before);
}

TEST_CASE("a callback may look at what its stream has done") {
  Device device;
  struct Look {
    void* p = nullptr;
    std::array<unsigned char, 16> host{};
  } look;
  const DeviceBytes memory(16);
  look.p = memory.p;
  for (const aclrtCallbackBlockType type : {ACL_CALLBACK_BLOCK, ACL_CALLBACK_NO_BLOCK}) {
    const int value = type == ACL_CALLBACK_BLOCK ? 5 : 6;
    std::atomic<bool> served{false};
    std::array<aclError, 5> codes{};  // assertions are for one thread at a time
    std::thread thread([&] {
      const auto self = static_cast<std::uint64_t>(pthread_self());
      codes[0] = aclrtSetDevice(0);
      codes[1] = aclrtSubscribeReport(self, device.stream);
      served = true;
      codes[2] = aclrtProcessReport(10000);
      codes[3] = aclrtUnSubscribeReport(self, device.stream);
      codes[4] = aclrtResetDevice(0);
    });
    while (!served) sleep_ms(1);
    CHECK(aclrtMemsetAsync(memory.p, 16, value, 16, device.stream) == 0);
    CHECK(aclrtLaunchCallback(
              [](void* data) {
                auto* l = static_cast<Look*>(data);
                aclrtMemcpy(l->host.data(), 16, l->p, 16, ACL_MEMCPY_DEVICE_TO_HOST);
              },
              &look, type, device.stream) == 0);
    thread.join();
    CHECK(codes == std::array<aclError, 5>{});
    CHECK(look.host[15] == value);
  }
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
}

TEST_CASE("a callback that nobody serves does not keep its stream from ending") {
  Device device;
  const auto never = [](void* called) { *static_cast<bool*>(called) = true; };
  const auto self = static_cast<std::uint64_t>(pthread_self());
  bool called = false;
  aclrtStream other = nullptr;
  SECTION("destroyed by force") {
    REQUIRE(aclrtCreateStream(&other) == 0);
    REQUIRE(aclrtSubscribeReport(self, other) == 0);
    REQUIRE(aclrtLaunchCallback(never, &called, ACL_CALLBACK_BLOCK, other) == 0);
    CHECK(aclrtDestroyStreamForce(other) == 0);
  }
  SECTION("no longer subscribed") {
    REQUIRE(aclrtCreateStream(&other) == 0);
    REQUIRE(aclrtSubscribeReport(self, other) == 0);
    REQUIRE(aclrtLaunchCallback(never, &called, ACL_CALLBACK_BLOCK, other) == 0);
    CHECK(aclrtUnSubscribeReport(self, other) == 0);
    CHECK(aclrtSynchronizeStream(other) == 0);
    CHECK(aclrtDestroyStream(other) == 0);
  }
  SECTION("with its context") {
    aclrtContext first = nullptr;
    aclrtContext context = nullptr;
    REQUIRE(aclrtGetCurrentContext(&first) == 0);
    REQUIRE(aclrtCreateContext(&context, 0) == 0);
    REQUIRE(aclrtSubscribeReport(self, nullptr) == 0);
    REQUIRE(aclrtLaunchCallback(never, &called, ACL_CALLBACK_BLOCK, nullptr) == 0);
    CHECK(aclrtDestroyContext(context) == 0);
    REQUIRE(aclrtSetCurrentContext(first) == 0);
  }
  CHECK_FALSE(called);
  CHECK(aclrtProcessReport(1) == ACL_ERROR_RT_REPORT_TIMEOUT);
}

TEST_CASE("the default stream belongs to the context") {
  Device device;
  const DeviceBytes memory(16);
  REQUIRE(aclrtMemsetAsync(memory.p, 16, 3, 16, nullptr) == 0);
  REQUIRE(aclrtSynchronizeStream(nullptr) == 0);
  std::array<unsigned char, 16> host{};
  REQUIRE(aclrtMemcpy(host.data(), 16, memory.p, 16, ACL_MEMCPY_DEFAULT) == 0);
  CHECK(host[15] == 3);
}

TEST_CASE("contexts come and go") {
  Device device;
  aclrtContext first = nullptr;
  REQUIRE(aclrtGetCurrentContext(&first) == 0);
  aclrtContext second = nullptr;
  REQUIRE(aclrtCreateContext(&second, 1) == 0);
  std::int32_t id = -1;
  REQUIRE(aclrtGetDevice(&id) == 0);
  CHECK(id == 1);
  REQUIRE(aclrtSetCurrentContext(first) == 0);
  REQUIRE(aclrtGetDevice(&id) == 0);
  CHECK(id == 0);
  CHECK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) == 0);
  std::int64_t value = 0;
  CHECK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value) == 0);
  CHECK(value == 1);
  CHECK(aclrtDestroyContext(second) == 0);
}

TEST_CASE("device memory is not zero, is counted, and has an end") {
  Device device;
  std::size_t free_before = 0;
  std::size_t total = 0;
  REQUIRE(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total) == 0);
  {
    const DeviceBytes memory(4096);
    std::array<unsigned char, 4096> host{};
    REQUIRE(aclrtMemcpy(host.data(), 4096, memory.p, 4096, ACL_MEMCPY_DEVICE_TO_HOST) == 0);
    CHECK(std::accumulate(host.begin(), host.end(), 0U) != 0);
    std::size_t free_now = 0;
    REQUIRE(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total) == 0);
    CHECK(free_before - free_now == 4096);
  }
  void* p = nullptr;
  CHECK(aclrtMalloc(&p, total + 1, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK(aclGetRecentErrMsg() != nullptr);
}

TEST_CASE("a configuration file that cannot be read is refused") {
  CHECK(aclInit("no/such/folder/acl.json") == ACL_ERROR_INVALID_FILE);
  CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
}

TEST_CASE("initialisation is counted") {
  REQUIRE(aclInit(nullptr) == 0);
  CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  CHECK(aclFinalize() == 0);
  CHECK(aclFinalize() == 0);
  CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
}

TEST_CASE("a forked child is told that its parent's streams are not its own, and has its own") {
  if (MLA_PROLOG_TEST_TSAN || MLA_PROLOG_TEST_ASAN)
    MLA_PROLOG_SKIP("a sanitizer's runtime may hold its locks at a fork");
  Device device;
  const DeviceBytes memory(1024);
  const CallbackThread callbacks(device.stream);
  aclrtEvent event = nullptr;
  REQUIRE(aclrtCreateEvent(&event) == 0);
  REQUIRE(aclrtMemsetAsync(memory.p, 1024, 1, 1024, nullptr) == 0);
  REQUIRE(aclrtSynchronizeStream(nullptr) == 0);
  small_op::Op queued;
  REQUIRE(queued.phase_one() == 0);
  REQUIRE(aclSetAclOpExecutorRepeatable(queued.executor) == 0);
  Gate gate;
  gate.close(device.stream);
  REQUIRE(aclrtMemsetAsync(memory.p, 1024, 2, 1024, device.stream) == 0);
  REQUIRE(queued.phase_two(device.stream) == 0);
  REQUIRE(aclrtRecordEvent(event, device.stream) == 0);
  // Locks and unlocks all the time.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::size_t free = 0;
    std::size_t total = 0;
    const std::int64_t dim = 4;
    aclrtSetDevice(0);
    while (!stop) {
      for (int i = 0; i < 100; ++i) {
        aclrtGetMemInfo(ACL_HBM_MEM, &free, &total);
        aclDestroyTensor(aclCreateTensor(&dim, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr));
      }
      std::this_thread::yield();
    }
    aclrtResetDevice(0);
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(30);
      std::array<unsigned char, 1024> host{};
      int bad = 0;
      const auto expect = [&](int status, int expected) { bad += status == expected ? 0 : 1; };
      expect(aclrtSynchronizeStream(device.stream), ACL_ERROR_RT_INVALID_HANDLE);
      expect(aclrtMemsetAsync(memory.p, 1024, 3, 1024, device.stream), ACL_ERROR_RT_INVALID_HANDLE);
      expect(aclrtDestroyStream(device.stream), ACL_ERROR_RT_INVALID_HANDLE);
      expect(aclrtSynchronizeDevice(), 0);
      expect(aclrtSynchronizeEvent(event), 0);
      // A copy of what the parent's memory was.
      expect(aclrtMemcpy(host.data(), 1024, memory.p, 1024, ACL_MEMCPY_DEVICE_TO_HOST), 0);
      expect(host[1023], 1);
      for (const bool own : {true, false}) {
        aclrtStream stream = nullptr;
        expect(own ? aclrtCreateStream(&stream) : 0, 0);
        small_op::Op op;
        expect(op.phase_one(), 0);
        expect(op.phase_two(stream), 0);
        expect(aclrtSynchronizeStream(stream), 0);
        expect(queued.phase_two(stream), ACLNN_ERR_PARAM_INVALID);
        expect(own ? aclrtDestroyStream(stream) : 0, 0);
      }
      expect(aclrtResetDeviceForce(0), 0);
      _exit(bad);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    INFO("status " << status);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
  gate.open();
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
  CHECK(aclDestroyAclOpExecutor(queued.executor) == 0);
  CHECK(aclrtDestroyEvent(event) == 0);
}
