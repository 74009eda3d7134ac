// Allocation, copies and fills.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "cann/runtime/api.hpp"
#include "cann/runtime/fault.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

enum class Side { host, device };

struct Direction {
  Side dst = Side::host;
  Side src = Side::host;
};

/// Runtime::mutex must be held: `ACL_MEMCPY_DEFAULT` looks at the pointers.
Direction direction(const Memory& memory, aclrtMemcpyKind kind, const void* dst, const void* src) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
      return {Side::host, Side::host};
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      return {Side::device, Side::host};
    case ACL_MEMCPY_DEVICE_TO_HOST:
      return {Side::host, Side::device};
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      return {Side::device, Side::device};
    case ACL_MEMCPY_DEFAULT:
      break;
  }
  const auto side = [&](const void* p) { return memory.locate(p).on_device() ? Side::device : Side::host; };
  return {side(dst), side(src)};
}

/// The checks that copies and fills make before they look at memory. 0: go on.
int check_arguments(const Site& site, const void* dst, std::size_t max, const char* max_name, std::size_t count) {
  if (dst == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "the destination is null");
  if (count > max) {
    report(Finding::out_of_bounds, site,
           "count is " + std::to_string(count) + ", more than " + max_name + ", " + std::to_string(max));
    return ACL_ERROR_INVALID_PARAM;
  }
  return require_init(site);
}

struct CopyPlan {
  Use dst;
  Use src;
  std::size_t count = 0;  ///< what can be copied
  int status = ACL_SUCCESS;
};

/// Runtime::mutex must be held.
CopyPlan plan_copy(Runtime& runtime, const Site& site, void* dst, const void* src, std::size_t count,
                   aclrtMemcpyKind kind) {
  CopyPlan plan;
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) {
    plan.status = refuse(site, ACL_ERROR_INVALID_PARAM, "kind is " + std::to_string(static_cast<int>(kind)));
    return plan;
  }
  const Direction d = direction(runtime.memory, kind, dst, src);
  plan.dst = {runtime.memory.check_range(site, "dst", dst, count, d.dst == Side::device), count, true, "dst"};
  plan.src = {runtime.memory.check_range(site, "src", src, count, d.src == Side::device), count, false, "src"};
  plan.count = std::min({count, plan.dst.range.usable, plan.src.range.usable});
  const auto* to = static_cast<const char*>(plan.dst.range.bytes);
  const auto* from = static_cast<const char*>(plan.src.range.bytes);
  bool refused = plan.dst.range.refuse || plan.src.range.refuse;
  if (plan.count > 0 && to < from + plan.count && from < to + plan.count) {
    refused |=
        report(Finding::overlapping_copy, site, "the " + std::to_string(plan.count) + " bytes of dst and src overlap");
  }
  if (refused || plan.count == 0) plan.status = ACL_ERROR_INVALID_PARAM;
  plan.dst.range.usable = plan.count;
  plan.src.range.usable = plan.count;
  return plan;
}

/// Keeps the memory of some uses, whoever frees it meanwhile. Runtime::mutex must be held when it is made and when it
/// ends.
class Hold {
 public:
  Hold(Memory& memory, std::span<const Use> uses) : memory_(memory), uses_(uses) {
    for (const Use& use : uses_) {
      if (use.range.allocation != nullptr) memory_.pin(*use.range.allocation);
    }
  }
  ~Hold() {
    for (const Use& use : uses_) {
      if (use.range.allocation != nullptr) memory_.unpin(*use.range.allocation);
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Memory& memory_;
  std::span<const Use> uses_;
};

/// The host is about to touch a range that it holds: queued work that uses it must have been waited for. The lock is
/// given up during a wait.
int check_synchronized(Runtime& runtime, std::unique_lock<std::mutex>& lock, const Site& site, const Use& use) {
  Allocation* allocation = use.range.allocation;
  if (allocation == nullptr) return ACL_SUCCESS;
  const std::size_t begin = use.range.offset;
  const auto other = Memory::conflict(*allocation, begin, begin + use.range.usable, use.write, runtime.host);
  if (!other) return ACL_SUCCESS;
  const void* address = reinterpret_cast<const void*>(allocation->address + begin);
  if (report(Finding::unsynchronized_access, site,
             std::string(use.argument) + " is " + (use.write ? "written" : "read") + " before the stream whose work " +
                 (other->write ? "writes" : "reads") +
                 " it was synchronised: " + runtime.memory.describe(address, runtime.memory.locate(address)))) {
    return ACL_ERROR_RT_STREAM_NOT_COMPLETE;
  }
  // The emulation itself must not race: it takes what the work leaves.
  settle(runtime, lock, *allocation);
  return ACL_SUCCESS;
}

int free_memory(const Site& site, void* pointer, Allocation::Kind kind) {
  if (pointer == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "the pointer is null");
  if (const int status = require_init(site)) return status;
  if (require_context(site) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const Located at = runtime.memory.locate(pointer);
  const auto misuse = [&](Finding finding, const char* text) {
    report(finding, site, text + (": " + runtime.memory.describe(pointer, at)));
    return ACL_ERROR_INVALID_PARAM;
  };
  if (at.place == Place::freed_device || at.place == Place::freed_host) {
    return misuse(Finding::double_free, "memory is freed twice");
  }
  if (at.place != Place::device && at.place != Place::pinned_host) {
    return misuse(at.place == Place::host && kind == Allocation::Kind::host && runtime.memory.was_host_memory(pointer)
                      ? Finding::double_free
                      : Finding::free_of_foreign_pointer,
                  "the pointer is not that of an allocation");
  }
  Allocation& allocation = *at.allocation;
  if (at.offset != 0) return misuse(Finding::free_of_inner_pointer, "the pointer is not the start of its allocation");
  if (allocation.kind != kind) {
    // Published samples do this; the memory is freed, unless findings are errors.
    if (report(Finding::free_of_foreign_pointer, site,
               std::string("memory of the other kind: ") + runtime.memory.describe(pointer, at))) {
      return ACL_ERROR_INVALID_PARAM;
    }
  }
  if (Memory::conflict(allocation, 0, allocation.bytes, true, runtime.host) &&
      report(Finding::free_while_in_use, site,
             "queued work that was not waited for uses the memory: " + runtime.memory.describe(pointer, at))) {
    return ACL_ERROR_RT_MEMORY_FREE;
  }
  runtime.memory.free(allocation, site);
  return ACL_SUCCESS;
}

/// 0, or the status for a configuration that asks for what does not exist, or not here.
int check_attributes(const Site& site, const aclrtMallocConfig& config) {
  if (config.numAttrs > 0 && config.attrs == nullptr) {
    return refuse(site, ACL_ERROR_INVALID_PARAM, "cfg->attrs is null");
  }
  for (std::size_t i = 0; i < config.numAttrs; ++i) {
    // A number: programs make up some that the enumeration cannot hold.
    std::int32_t kind = 0;
    std::memcpy(&kind, &config.attrs[i].attr, sizeof kind);
    switch (kind) {
      case ACL_RT_MEM_ATTR_MODULE_ID:
      case ACL_RT_MEM_ATTR_DEVICE_ID:
        break;
      case ACL_RT_MEM_ATTR_VA_FLAG:
        if (config.attrs[i].value.vaFlag == 0) break;
        return refuse(site, ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                      "cfg->attrs[" + std::to_string(i) +
                          "] asks for one address on host and device (ACL_RT_MEM_ATTR_VA_FLAG), which is not emulated");
      default:
        return refuse(site, ACL_ERROR_INVALID_PARAM,
                      "cfg->attrs[" + std::to_string(i) + "].attr is " + std::to_string(kind) +
                          ", which is no aclrtMallocAttrType that can be set");
    }
  }
  return ACL_SUCCESS;
}

int allocate(const Site& site, void** pointer, std::size_t bytes, const aclrtMallocConfig* config,
             Allocation::Kind kind) {
  if (config != nullptr) {
    if (const int status = check_attributes(site, *config)) return status;
  }
  if (pointer == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "the result pointer is null");
  if (bytes == 0) return refuse(site, ACL_ERROR_INVALID_PARAM, "size is 0");
  if (const int status = require_init(site)) return status;
  const auto context = require_context(site);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const Allocation* allocation = kind == Allocation::Kind::device
                                     ? runtime.memory.allocate_device(site, bytes, context->device())
                                     : runtime.memory.allocate_host(site, bytes);
  if (allocation == nullptr) {
    const std::size_t left = runtime.memory.capacity() - runtime.memory.used();
    return refuse(
        site, ACL_ERROR_RT_MEMORY_ALLOCATION,
        std::to_string(bytes) + " bytes asked for, " + std::to_string(runtime.memory.used()) + " of " +
            std::to_string(runtime.memory.capacity()) + " bytes of device memory are in use" +
            (bytes <= left ? "; the host refuses it (its memory, or its number of mappings: vm.max_map_count)" : ""));
  }
  static const bool watching = (watch_for_faults(), true);
  static_cast<void>(watching);
  *pointer = reinterpret_cast<void*>(allocation->address);
  return ACL_SUCCESS;
}

}  // namespace

namespace api {

aclError malloc_device(const Site& site, void** pointer, std::size_t bytes, const aclrtMallocConfig* config) noexcept {
  return guarded([&] { return allocate(site, pointer, bytes, config, Allocation::Kind::device); });
}

aclError malloc_host(const Site& site, void** pointer, std::size_t bytes, const aclrtMallocConfig* config) noexcept {
  return guarded([&] { return allocate(site, pointer, bytes, config, Allocation::Kind::host); });
}

aclError free_device(const Site& site, void* pointer) noexcept {
  return guarded([&] { return free_memory(site, pointer, Allocation::Kind::device); });
}

aclError free_host(const Site& site, void* pointer) noexcept {
  return guarded([&] { return free_memory(site, pointer, Allocation::Kind::host); });
}

aclError copy(const Site& site, void* dst, std::size_t dst_max, const void* src, std::size_t count,
              aclrtMemcpyKind kind) noexcept {
  return guarded([&]() -> int {
    if (count == 0) return ACL_SUCCESS;
    if (src == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "src is null");
    if (const int status = check_arguments(site, dst, dst_max, "destMax", count)) return status;
    if (require_context(site) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    Runtime& runtime = Runtime::instance();
    std::unique_lock<std::mutex> lock(runtime.mutex);
    const CopyPlan plan = plan_copy(runtime, site, dst, src, count, kind);
    if (plan.status != ACL_SUCCESS) return plan.status;
    const std::array uses{plan.src, plan.dst};
    const Hold hold(runtime.memory, uses);
    for (const Use& use : uses) {
      if (const int status = check_synchronized(runtime, lock, site, use)) return status;
    }
    lock.unlock();
    std::memmove(plan.dst.range.bytes, plan.src.range.bytes, plan.count);
    lock.lock();
    return ACL_SUCCESS;
  });
}

aclError copy_async(const Site& site, void* dst, std::size_t dst_max, const void* src, std::size_t count,
                    aclrtMemcpyKind kind, aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    if (count == 0) return ACL_SUCCESS;
    if (src == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "src is null");
    if (const int status = check_arguments(site, dst, dst_max, "destMax", count)) return status;
    Enqueue queue(site, handle);
    if (queue.status() != ACL_SUCCESS) return queue.status();
    Runtime& runtime = Runtime::instance();
    const CopyPlan plan = plan_copy(runtime, site, dst, src, count, kind);
    if (plan.status != ACL_SUCCESS) return plan.status;
    const std::array<Use, 2> uses{plan.dst, plan.src};
    if (check_races(runtime, site, queue.stream(), uses)) return ACL_ERROR_INVALID_PARAM;
    struct Copy {
      void* dst;
      const void* src;
      std::size_t count;
    };
    queue.task().set(
        [](Task& t) -> int {
          const Copy& c = t.get<Copy>();
          std::memmove(c.dst, c.src, c.count);
          return ACL_SUCCESS;
        },
        Copy{plan.dst.range.bytes, plan.src.range.bytes, plan.count});
    take_hold(runtime, queue.stream(), queue.task(), uses);
    queue.commit();
    return ACL_SUCCESS;
  });
}

aclError fill(const Site& site, void* pointer, std::size_t max, std::int32_t value, std::size_t count) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_arguments(site, pointer, max, "maxCount", count)) return status;
    if (count == 0) return ACL_SUCCESS;
    if (require_context(site) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    Runtime& runtime = Runtime::instance();
    std::unique_lock<std::mutex> lock(runtime.mutex);
    const Use use{runtime.memory.check_range(site, "devPtr", pointer, count, true), count, true, "devPtr"};
    if (use.range.refuse || use.range.usable == 0) return ACL_ERROR_INVALID_PARAM;
    const Hold hold(runtime.memory, {&use, 1});
    if (const int status = check_synchronized(runtime, lock, site, use)) return status;
    std::memset(use.range.bytes, value, use.range.usable);
    return ACL_SUCCESS;
  });
}

aclError fill_async(const Site& site, void* pointer, std::size_t max, std::int32_t value, std::size_t count,
                    aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_arguments(site, pointer, max, "maxCount", count)) return status;
    if (count == 0) return ACL_SUCCESS;
    Enqueue queue(site, handle);
    if (queue.status() != ACL_SUCCESS) return queue.status();
    Runtime& runtime = Runtime::instance();
    const std::array<Use, 1> uses{
        Use{runtime.memory.check_range(site, "devPtr", pointer, count, true), count, true, "devPtr"}};
    const Range& range = uses[0].range;
    if (range.refuse || range.usable == 0) return ACL_ERROR_INVALID_PARAM;
    if (check_races(runtime, site, queue.stream(), uses)) return ACL_ERROR_INVALID_PARAM;
    struct Fill {
      void* bytes;
      std::size_t count;
      int value;
    };
    queue.task().set(
        [](Task& t) -> int {
          const Fill& f = t.get<Fill>();
          std::memset(f.bytes, f.value, f.count);
          return ACL_SUCCESS;
        },
        Fill{range.bytes, range.usable, value});
    take_hold(runtime, queue.stream(), queue.task(), uses);
    queue.commit();
    return ACL_SUCCESS;
  });
}

aclError check_device_range(const Site& site, void* pointer, std::size_t bytes) noexcept {
  return guarded([&]() -> int {
    if (pointer == nullptr || bytes == 0) return refuse(site, ACL_ERROR_INVALID_PARAM, "devPtr is null or size is 0");
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    const Range range = runtime.memory.check_range(site, "devPtr", pointer, bytes, true);
    return range.refuse || range.usable == 0 ? ACL_ERROR_INVALID_PARAM : ACL_SUCCESS;
  });
}

aclError memory_info(const Site& site, std::size_t* free, std::size_t* total) noexcept {
  return guarded([&]() -> int {
    if (free == nullptr || total == nullptr) {
      return refuse(site, ACL_ERROR_INVALID_PARAM, free == nullptr ? "free is null" : "total is null");
    }
    if (require_context(site) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    *total = runtime.memory.capacity();
    *free = *total - runtime.memory.used();
    return ACL_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
