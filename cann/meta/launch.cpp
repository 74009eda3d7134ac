// Phase two: checks the memory that the work will touch and queues it. Allocates nothing when nothing is wrong.
#include <cstring>

#include "cann/meta/executor.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

/// What a launch will touch, and why it cannot run, if it cannot.
struct Touched {
  std::array<Use, Launch::kMaxOperands + 1> uses{};
  std::size_t count = 0;
  std::string fault;    ///< what the device would trip over
  bool refuse = false;  ///< a finding that must make the call fail

  void find(Finding kind, const Site& site, const std::string& text) {
    refuse |= report(kind, site, text);
    if (fault.empty()) fault = text;
  }
};

/// Device memory of at least `bytes` bytes, or a finding. Returns the usable address.
void* touch(Runtime& runtime, const Site& site, const char* name, void* address, std::size_t bytes, bool write,
            Finding too_small, Touched& touched) {
  const Memory& memory = runtime.memory;
  if (address == nullptr) {
    touched.find(Finding::null_data, site,
                 std::string(name) + " has " + std::to_string(bytes) + " bytes but no address");
    return nullptr;
  }
  const Located at = memory.locate(address);
  const auto wrong = [&](Finding kind, const char* what) {
    touched.find(kind, site, std::string(name) + what + ": " + memory.describe(address, at));
    return nullptr;
  };
  if (at.place == Place::freed_device) return wrong(Finding::use_after_free, " lies in freed memory");
  if (at.place == Place::unallocated_device) return wrong(Finding::invalid_device_pointer, " lies in no allocation");
  if (at.place != Place::device)
    return wrong(Finding::host_pointer_as_device, " must lie in device memory but does not");
  const std::size_t available = at.allocation->bytes - at.offset;
  if (bytes > available) {
    touched.find(too_small, site,
                 std::string(name) + " needs " + std::to_string(bytes) + " bytes, there are " +
                     std::to_string(available) + ": " + memory.describe(address, at));
    return nullptr;
  }
  const void* bytes_at = memory.arena().shadow(reinterpret_cast<std::uintptr_t>(address));
  touched.uses[touched.count++] = {
      {const_cast<void*>(bytes_at), bytes, at.allocation, at.offset, false}, bytes, write, name};
  return const_cast<void*>(bytes_at);
}

/// The launch is over: its executor may be, too.
void finish(aclOpExecutor* executor) {
  const std::lock_guard lock(Runtime::instance().mutex);
  --executor->queued;
  if (executor->queued == 0 && (executor->spent || executor->destroyed)) {
    Pool<aclOpExecutor>::instance().destroy(executor);
  }
}

int run_launch(Task& task) {
  const Launch& launch = task.get<Launch>();
  int status = ACL_SUCCESS;
  {
    const std::lock_guard lock(launch.executor->running);
    try {
      status = launch.executor->operation->run(launch, task.error);
    } catch (const std::bad_alloc&) {
      task.plain_error = "the host has no memory for what the operator keeps apart";
      status = ACL_ERROR_RT_AICORE_EXCEPTION;
    }
  }
  finish(launch.executor);
  return status;
}

/// Stands for work that trips over a bad address.
int fault_launch(Task& task) {
  finish(task.get<Launch>().executor);
  return ACL_ERROR_RT_AICORE_EXCEPTION;
}

/// Runtime::mutex must be held: another thread may launch, and with that end, the same executor.
int check_call(const Site& site, const char* family, const void* workspace, std::uint64_t workspace_bytes,
               aclOpExecutor* executor) {
  if (executor == nullptr) return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "executor is null");
  const Life life = Pool<aclOpExecutor>::instance().life(executor);
  if (life == Life::unknown || (life == Life::live && std::strcmp(executor->family, family) != 0)) {
    report(Finding::invalid_handle, site,
           life == Life::unknown ? "executor was not made by this library"
                                 : std::string("executor is one of ") + executor->family);
    return ACLNN_ERR_PARAM_INVALID;
  }
  if (life == Life::destroyed || executor->spent || executor->destroyed) {
    report(Finding::executor_reused, site,
           "the executor was used up by its phase two, or destroyed (aclSetAclOpExecutorRepeatable makes it last)");
    return ACLNN_ERR_PARAM_INVALID;
  }
  if (executor->queued > 0 && executor->queued_in != fork_count()) {
    report(Finding::invalid_handle, site, "the executor was queued in the parent process when it forked");
    return ACLNN_ERR_PARAM_INVALID;
  }
  if (workspace_bytes > 0 && workspace == nullptr) {
    return refuse(site, ACLNN_ERR_PARAM_NULLPTR,
                  "workspace is null, workspaceSize is " + std::to_string(workspace_bytes));
  }
  if (workspace_bytes < executor->workspace_bytes) {
    report(Finding::workspace_too_small, site,
           "workspaceSize is " + std::to_string(workspace_bytes) + ", phase one asked for " +
               std::to_string(executor->workspace_bytes));
    return ACLNN_ERR_PARAM_INVALID;
  }
  return ACLNN_SUCCESS;
}

}  // namespace

namespace api {

aclnnStatus launch(const Site& site, const char* family, void* workspace, std::uint64_t workspace_bytes,
                   aclOpExecutor* executor, const void* handle) noexcept {
  return guarded([&]() -> int {
    Runtime& runtime = Runtime::instance();
    const auto check = [&] { return check_call(site, family, workspace, workspace_bytes, executor); };
    bool works = false;
    {
      const std::lock_guard lock(runtime.mutex);
      if (const int status = check()) return status;
      works = executor->operation != nullptr;
    }
    if (require_init(site) != ACL_SUCCESS) return ACLNN_ERR_RUNTIME_ERROR;
    if (!works) {
      int stream_status = ACL_SUCCESS;
      if (find_stream(site, handle, stream_status) == nullptr) return ACLNN_ERR_RUNTIME_ERROR;
      const std::lock_guard lock(runtime.mutex);
      if (const int status = check()) return status;
      if (!executor->repeatable) Pool<aclOpExecutor>::instance().destroy(executor);
      return ACLNN_SUCCESS;
    }
    Enqueue queue(site, handle);
    if (queue.status() != ACL_SUCCESS) return ACLNN_ERR_RUNTIME_ERROR;
    if (const int status = check()) return status;

    Touched touched;
    Launch work;
    work.executor = executor;
    work.site = site;
    for (std::size_t i = 0; i < executor->operand_count; ++i) {
      const Operand& operand = executor->operands[i];
      if (operand.extent == 0) continue;
      work.data[i] = touch(runtime, site, operand.name, operand.address, operand.extent, operand.output,
                           Finding::tensor_out_of_bounds, touched);
    }
    if (workspace_bytes > 0) {
      work.workspace =
          touch(runtime, site, "workspace", workspace, workspace_bytes, true, Finding::workspace_too_small, touched);
      work.workspace_bytes = work.workspace == nullptr ? 0 : workspace_bytes;
    }
    const std::span<const Use> uses(touched.uses.data(), touched.count);
    if (check_races(runtime, site, queue.stream(), uses)) touched.refuse = true;
    if (touched.refuse) return ACLNN_ERR_RUNTIME_ERROR;

    Task& task = queue.task();
    task.set(touched.fault.empty() ? run_launch : fault_launch, work);
    if (!touched.fault.empty()) task.error = std::string(site.function) + ": " + touched.fault;
    task.site = site;
    executor->spent = !executor->repeatable;
    ++executor->queued;
    executor->queued_in = fork_count();
    take_hold(runtime, queue.stream(), task, uses);
    queue.commit();
    return ACLNN_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
