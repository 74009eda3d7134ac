// One kind of misuse of the CANN interface, or its correct twin: `misuse NAME wrong|right`. Prints the status of the
// call in question; `misuse --list` prints every name with the finding it must cause. C++11 against the emulated tree.
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "small_op.hpp"

namespace {

aclrtStream stream = nullptr;

struct Memory {
  explicit Memory(size_t bytes) { aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST); }
  ~Memory() {
    if (p != nullptr) aclrtFree(p);
  }
  char* at(size_t offset) const { return static_cast<char*>(p) + offset; }
  void* p = nullptr;
};

int copy_in(void* device, size_t max, const void* host, size_t count) {
  return aclrtMemcpy(device, max, host, count, ACL_MEMCPY_HOST_TO_DEVICE);
}

int host_as_device(bool wrong) {
  char host[64] = {};
  char other[64] = {};
  const Memory device(64);
  return copy_in(wrong ? static_cast<void*>(other) : device.p, 64, host, 64);
}

int device_as_host(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  const Memory second(64);
  return copy_in(device.p, 64, wrong ? second.p : host, 64);
}

int dereference(bool wrong) {
  const Memory device(64);
  char host[64] = {};
  return *static_cast<volatile char*>(wrong ? device.p : host);
}

int host_tensor(bool wrong) {
  small_op::Op op;
  std::vector<char> host(op.token_x.bytes);
  if (wrong) {
    aclDestroyTensor(op.token_x.handle);
    aclrtFree(op.token_x.memory);
    op.token_x = small_op::make(ACL_BF16, {small_op::kTokens, 1024}, ACL_FORMAT_ND, host.data());
  }
  op.phase_one();
  int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  if (wrong) op.token_x.memory = nullptr;
  return status != 0 ? status : later;
}

int unallocated(bool wrong) {
  char host[64] = {};
  const Memory device(4096);
  return copy_in(wrong ? device.at(4096 + 16) : device.at(16), 64, host, 64);
}

int copy_past_end(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  return copy_in(device.at(wrong ? 32 : 0), 64, host, 64);
}

int dest_max(bool wrong) {
  char host[64] = {};
  const Memory device(64);
  return copy_in(device.p, wrong ? 32 : 64, host, 64);
}

int pinned_past_end(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 32);
  const Memory device(64);
  const int status = aclrtMemcpy(host, 64, device.p, wrong ? 64 : 32, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtFreeHost(host);
  return status;
}

int memset_past_end(bool wrong) {
  const Memory device(64);
  return aclrtMemset(device.p, 128, 0, wrong ? 65 : 64);
}

int overlap(bool wrong) {
  const Memory device(256);
  return aclrtMemcpy(device.at(wrong ? 32 : 64), 64, device.p, 64, ACL_MEMCPY_DEVICE_TO_DEVICE);
}

int use_after_free(bool wrong) {
  char host[64] = {};
  Memory device(64);
  void* p = device.p;
  if (wrong) {
    aclrtFree(p);
    device.p = nullptr;
  }
  return copy_in(p, 64, host, 64);
}

int double_free(bool wrong) {
  void* p = nullptr;
  aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (wrong) aclrtFree(p);
  return aclrtFree(p);
}

int double_free_host(bool wrong) {
  void* p = nullptr;
  aclrtMallocHost(&p, 64);
  if (wrong) aclrtFreeHost(p);
  return aclrtFreeHost(p);
}

int inner_free(bool wrong) {
  Memory device(64);
  const int status = aclrtFree(device.at(wrong ? 16 : 0));
  if (!wrong) device.p = nullptr;
  return status;
}

int foreign_free(bool wrong) {
  if (!wrong) {
    Memory device(64);
    const int status = aclrtFree(device.p);
    device.p = nullptr;
    return status;
  }
  int local = 0;
  return aclrtFree(&local);
}

int free_of_host_memory(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 64);
  if (!wrong) return aclrtFreeHost(host);
  const int status = aclrtFree(host);
  if (status != 0) aclrtFreeHost(host);
  return status;
}

int guard(bool wrong) {
  void* host = nullptr;
  aclrtMallocHost(&host, 64);
  static_cast<volatile char*>(host)[wrong ? 64 : 63] = 1;
  return aclrtFreeHost(host);
}

int null_data(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) aclSetInputTensorAddr(op.executor, 0, op.token_x.handle, nullptr);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int short_tensor(bool wrong) {
  small_op::Op op;
  const Memory small(op.query.bytes - 2);
  op.phase_one();
  if (wrong) aclSetOutputTensorAddr(op.executor, 0, op.query.handle, small.p);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int freed_tensor(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) {
    aclrtFree(op.rope_sin.memory);
    op.rope_sin.memory = nullptr;
  }
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int small_workspace(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const int status = aclnnMlaPrologV3WeightNz(op.workspace, op.workspace_bytes - (wrong ? 1 : 0), op.executor, stream);
  aclrtSynchronizeStream(stream);
  return status;
}

int small_workspace_memory(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const Memory small(static_cast<size_t>(op.workspace_bytes) / 2);
  const int status = aclnnMlaPrologV3WeightNz(wrong ? small.p : op.workspace, op.workspace_bytes, op.executor, stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int read_too_early(bool wrong) {
  small_op::Op op;
  op.phase_one();
  op.phase_two(stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  std::vector<char> host(op.query.bytes);
  const int status = aclrtMemcpy(host.data(), host.size(), op.query.memory, op.query.bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtSynchronizeStream(stream);
  return status;
}

int write_too_early(bool wrong) {
  small_op::Op op;
  std::vector<char> host(op.token_x.bytes);
  op.phase_one();
  op.phase_two(stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  const int status = copy_in(op.token_x.memory, op.token_x.bytes, host.data(), host.size());
  aclrtSynchronizeStream(stream);
  return status;
}

int stream_race(bool wrong) {
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  aclrtCreateStream(&other);
  aclrtCreateEvent(&event);
  const Memory device(64);
  aclrtMemsetAsync(device.p, 64, 1, 64, stream);
  if (!wrong) {
    aclrtRecordEvent(event, stream);
    aclrtStreamWaitEvent(other, event);
  }
  const int status = aclrtMemsetAsync(device.p, 64, 2, 64, other);
  aclrtSynchronizeDevice();
  aclrtDestroyEvent(event);
  aclrtDestroyStream(other);
  return status;
}

int free_in_use(bool wrong) {
  Memory device(1 << 20);
  aclrtMemsetAsync(device.p, 1 << 20, 1, 1 << 20, stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  const int status = aclrtFree(device.p);
  aclrtSynchronizeStream(stream);
  if (status == 0) device.p = nullptr;
  return status;
}

int destroy_busy_stream(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  const Memory device(64);
  aclrtMemsetAsync(device.p, 64, 1, 64, other);
  if (!wrong) aclrtSynchronizeStream(other);
  const int status = aclrtDestroyStream(other);
  if (status != 0) {
    aclrtSynchronizeStream(other);
    aclrtDestroyStream(other);
  }
  return status;
}

int stale_stream(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  if (wrong) aclrtDestroyStream(other);
  const int status = aclrtSynchronizeStream(other);
  if (!wrong) aclrtDestroyStream(other);
  return status;
}

int stale_event(bool wrong) {
  aclrtEvent event = nullptr;
  aclrtCreateEvent(&event);
  if (wrong) aclrtDestroyEvent(event);
  const int status = aclrtRecordEvent(event, stream);
  aclrtSynchronizeStream(stream);
  if (!wrong) aclrtDestroyEvent(event);
  return status;
}

int stale_tensor(bool wrong) {
  small_op::Op op;
  aclTensor* tensor = op.token_x.handle;
  if (wrong) aclDestroyTensor(tensor);
  const int status = op.phase_one();
  if (wrong) op.token_x.handle = nullptr;
  if (status == 0) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int tensor_destroyed_twice(bool wrong) {
  const int64_t dim = 4;
  aclTensor* tensor = aclCreateTensor(&dim, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
  if (wrong) aclDestroyTensor(tensor);
  return aclDestroyTensor(tensor);
}

int executor_twice(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (!wrong) aclSetAclOpExecutorRepeatable(op.executor);
  op.phase_two(stream);
  const int status = op.phase_two(stream);
  aclrtSynchronizeStream(stream);
  if (!wrong) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int garbage_executor(bool wrong) {
  small_op::Op op;
  op.phase_one();
  int local = 0;
  const int status = aclnnMlaPrologV3WeightNz(op.workspace, op.workspace_bytes,
                                              wrong ? reinterpret_cast<aclOpExecutor*>(&local) : op.executor, stream);
  aclrtSynchronizeStream(stream);
  if (wrong) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int output_overlap(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) aclSetOutputTensorAddr(op.executor, 0, op.query.handle, op.weight_uk.memory);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int bad_index(bool wrong) {
  // Twice the same slot is legal.
  small_op::Op op(wrong ? std::vector<int64_t>{3, small_op::kBlocks * small_op::kBlockSize}
                        : std::vector<int64_t>{3, 3});
  const std::vector<unsigned char> before = op.read(op.kv_cache);
  op.phase_one();
  if (op.phase_two(stream) != 0) return -2;
  const int status = aclrtSynchronizeStream(stream);
  if (wrong && op.read(op.kv_cache) != before) return 0;
  return status;
}

int leak(bool wrong) {
  void* p = nullptr;
  aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (!wrong) aclrtFree(p);
  return wrong ? 1 : 0;
}

int host_leak(bool wrong) {
  void* p = nullptr;
  aclrtMallocHost(&p, 64);
  if (!wrong) aclrtFreeHost(p);
  return wrong ? 1 : 0;
}

int stream_leak(bool wrong) {
  aclrtStream other = nullptr;
  aclrtCreateStream(&other);
  if (!wrong) aclrtDestroyStream(other);
  return wrong ? 1 : 0;
}

int no_device(bool wrong) {
  int status = 0;
  std::thread thread([&] {
    if (!wrong) aclrtSetDevice(0);
    void* p = nullptr;
    status = aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    if (status == 0) aclrtFree(p);
    if (!wrong) aclrtResetDevice(0);
  });
  thread.join();
  return status;
}

struct Misuse {
  const char* name;
  const char* finding;
  int (*run)(bool wrong);
};

const Misuse kMisuses[] = {
    {"no_init", "missing-init", nullptr},
    {"no_device", "missing-device", no_device},
    {"host_as_device", "host-pointer-as-device", host_as_device},
    {"device_as_host", "device-pointer-as-host", device_as_host},
    {"dereference", "device-pointer-as-host", dereference},
    {"host_tensor", "host-pointer-as-device", host_tensor},
    {"unallocated", "invalid-device-pointer", unallocated},
    {"copy_past_end", "out-of-bounds", copy_past_end},
    {"dest_max", "out-of-bounds", dest_max},
    {"pinned_past_end", "out-of-bounds", pinned_past_end},
    {"memset_past_end", "out-of-bounds", memset_past_end},
    {"overlap", "overlapping-copy", overlap},
    {"use_after_free", "use-after-free", use_after_free},
    {"double_free", "double-free", double_free},
    {"double_free_host", "double-free", double_free_host},
    {"inner_free", "free-of-inner-pointer", inner_free},
    {"foreign_free", "free-of-foreign-pointer", foreign_free},
    {"free_of_host_memory", "free-of-foreign-pointer", free_of_host_memory},
    {"guard", "guard-overwritten", guard},
    {"null_data", "null-data", null_data},
    {"short_tensor", "tensor-out-of-bounds", short_tensor},
    {"freed_tensor", "use-after-free", freed_tensor},
    {"small_workspace", "workspace-too-small", small_workspace},
    {"small_workspace_memory", "workspace-too-small", small_workspace_memory},
    {"read_too_early", "unsynchronized-access", read_too_early},
    {"write_too_early", "unsynchronized-access", write_too_early},
    {"stream_race", "stream-race", stream_race},
    {"free_in_use", "free-while-in-use", free_in_use},
    {"destroy_busy_stream", "destroyed-while-in-use", destroy_busy_stream},
    {"stale_stream", "invalid-handle", stale_stream},
    {"stale_event", "invalid-handle", stale_event},
    {"stale_tensor", "invalid-handle", stale_tensor},
    {"tensor_destroyed_twice", "invalid-handle", tensor_destroyed_twice},
    {"executor_twice", "executor-reused", executor_twice},
    {"garbage_executor", "invalid-handle", garbage_executor},
    {"output_overlap", "output-overlap", output_overlap},
    {"bad_index", "bad-index", bad_index},
    {"leak", "leak", leak},
    {"host_leak", "leak", host_leak},
    {"stream_leak", "leak", stream_leak},
};

int run(const Misuse& misuse, bool wrong) {
  const bool initialise = misuse.run != nullptr || !wrong;
  if (initialise) aclInit(nullptr);
  int status = aclrtSetDevice(0);
  if (misuse.run != nullptr) {
    aclrtCreateStream(&stream);
    status = misuse.run(wrong);
    aclrtDestroyStream(stream);
  }
  if (initialise || status == 0) aclrtResetDevice(0);
  if (initialise) aclFinalize();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const Misuse& misuse : kMisuses) std::printf("%s %s\n", misuse.name, misuse.finding);
    return 0;
  }
  for (const Misuse& misuse : kMisuses) {
    if (argc != 3 || misuse.name != std::string(argv[1])) continue;
    std::printf("status=%d\n", run(misuse, std::string(argv[2]) == "wrong"));
    return 0;
  }
  std::fprintf(stderr, "usage: misuse --list | misuse NAME wrong|right\n");
  return 2;
}
