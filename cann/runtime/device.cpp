// Initialisation, devices and contexts.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "cann/meta/executor.hpp"
#include "cann/meta/objects.hpp"
#include "cann/runtime/api.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

/// The calling thread's context, as set last.
thread_local std::shared_ptr<Context> thread_context;

bool valid_device(std::int32_t device) {
  return device >= 0 && static_cast<std::uint32_t>(device) < settings().device_count;
}

int bad_device(const Site& site, std::int32_t device) {
  return refuse(site, ACL_ERROR_RT_INVALID_DEVICEID,
                "deviceId is " + std::to_string(device) + ", there are " + std::to_string(settings().device_count));
}

/// Waits for all work of a context (null: of a device), at most `timeout_ms` (negative: for ever).
int synchronize(const Context* context, std::int32_t device, std::int32_t timeout_ms = -1) {
  Runtime& runtime = Runtime::instance();
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> awaited;
  Clock reached;
  {
    const std::lock_guard lock(runtime.mutex);
    for (const StreamEntry& entry : runtime.stream_entries) {
      if (entry.stream == nullptr) continue;
      const Context* owner = entry.stream->context().get();
      if (context != nullptr ? owner != context : owner->device() != device) continue;
      awaited.emplace_back(entry.stream, entry.stream->issued());
      reached.join(entry.stream->clock);
    }
  }
  using std::chrono::milliseconds;
  const auto end = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
  for (const auto& [stream, number] : awaited) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
    const auto limit = timeout_ms < 0 ? -1 : static_cast<std::int32_t>(std::max<std::int64_t>(left, 0));
    if (!stream->wait(number, limit)) return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
  }
  int status = ACL_SUCCESS;
  for (const auto& [stream, number] : awaited) {
    std::string text;
    const int error = stream->take_error(text);
    if (error != 0 && status == 0) {
      set_error_message(text);
      status = error;
    }
  }
  const std::lock_guard lock(runtime.mutex);
  runtime.host.join(reached);
  return status;
}

/// Reports objects of a kind that are alive and were not reported before. Runtime::mutex must be held.
template <typename T, typename Condition>
void report_objects(const Site& site, const char* what, const char* end, Condition&& condition) {
  static std::size_t reported = 0;
  const std::size_t alive = Pool<T>::instance().count(condition);
  if (alive > reported) {
    report(Finding::leak, site,
           std::to_string(alive - reported) + " " + what + " made by phase one or aclCreate* and not ended by " + end);
  }
  reported = alive;
}

template <typename T>
void report_objects(const Site& site, const char* what, const char* end) {
  report_objects<T>(site, what, end, [](const T&) { return true; });
}

/// Ends a context; its streams finish their work first.
void end_context(const std::shared_ptr<Context>& context) {
  {
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    for (const StreamEntry& entry : runtime.stream_entries) {
      if (entry.stream != nullptr && entry.stream->context() == context) entry.stream->closing = true;
    }
  }
  wake_callbacks();
  synchronize(context.get(), context->device());
  std::shared_ptr<Stream> stream;
  {
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    context->destroyed = true;  // from here on nothing is queued on its streams
    stream = std::move(context->default_stream);
    if (stream != nullptr && stream->foreign()) stream = nullptr;  // its entry keeps it
    if (stream != nullptr) {
      StreamEntry& entry = runtime.stream_entries[stream->id()];
      entry.last_number = stream->issued();
      entry.stream = nullptr;
    }
  }
  if (stream != nullptr) stream->stop();
}

}  // namespace

std::shared_ptr<Context> current_context() {
  if (thread_context != nullptr && thread_context->destroyed) thread_context = nullptr;
  return thread_context;
}

namespace api {

aclError init(const Site& site, const char* config) noexcept {
  return guarded([&]() -> int {
    if (config != nullptr && *config != '\0' && !std::ifstream(config).good()) {
      return refuse(site, ACL_ERROR_INVALID_FILE, std::string("the configuration file cannot be read: ") + config);
    }
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    runtime.missing_init_reported = false;
    if (runtime.init_count++ > 0) return refuse(site, ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called already");
    if (settings().verbose > 0) {
      note("emulated CANN " + settings().cann_version + " on this CPU, " + settings().soc_name + "; no device is used");
    }
    return ACL_SUCCESS;
  });
}

aclError finalize(const Site& site) noexcept {
  return guarded([&]() -> int {
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    if (runtime.init_count == 0) return refuse(site, ACL_ERROR_REPEAT_FINALIZE, "there is no aclInit to undo");
    if (--runtime.init_count > 0) return ACL_SUCCESS;
    runtime.memory.report_leaks(site);
    report_objects<aclTensor>(site, "tensor(s)", "aclDestroyTensor");
    report_objects<aclScalar>(site, "scalar(s)", "aclDestroyScalar");
    report_objects<aclIntArray>(site, "integer array(s)", "aclDestroyIntArray");
    report_objects<aclFloatArray>(site, "float array(s)", "aclDestroyFloatArray");
    report_objects<aclBoolArray>(site, "bool array(s)", "aclDestroyBoolArray");
    report_objects<aclTensorList>(site, "tensor list(s)", "aclDestroyTensorList");
    report_objects<aclScalarList>(site, "scalar list(s)", "aclDestroyScalarList");
    report_objects<aclOpExecutor>(site, "executor(s)", "phase two or aclDestroyAclOpExecutor",
                                  [](const aclOpExecutor& e) { return !e.spent && !e.destroyed; });
    for (StreamEntry& entry : runtime.stream_entries) {
      if (entry.stream == nullptr || runtime.streams.find(entry.stream.get()) == nullptr) continue;
      if (entry.stream->lost || entry.stream->foreign()) continue;
      report(Finding::leak, site, "a stream created at " + describe_code(entry.created.caller) + " still exists");
    }
    for (const auto& [handle, event] : runtime.events.live()) {
      report(Finding::leak, site, "an event created at " + describe_code(event->created.caller) + " still exists");
    }
    for (const auto& [handle, context] : runtime.contexts.live()) {
      if (context->primary() || context->leak_reported) continue;
      context->leak_reported = true;
      report(Finding::leak, site, "a context created at " + describe_code(context->created.caller) + " still exists");
    }
    for (std::size_t i = 0; i < runtime.devices.size(); ++i) {
      Device& d = runtime.devices[i];
      if (d.set_count == 0 || d.was_reset) continue;
      d.was_reset = true;
      report(Finding::leak, site, "device " + std::to_string(i) + " was set and never reset");
    }
    return ACL_SUCCESS;
  });
}

aclError set_device(const Site& site, std::int32_t device) noexcept {
  return guarded([&]() -> int {
    if (const int status = require_init(site)) return status;
    if (!valid_device(device)) return bad_device(site, device);
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    Device& d = runtime.devices[static_cast<std::size_t>(device)];
    ++d.set_count;
    if (d.primary == nullptr) {
      d.primary = std::make_shared<Context>(device, true);
      d.was_reset = false;
      runtime.contexts.add(d.primary);
    }
    thread_context = d.primary;
    return ACL_SUCCESS;
  });
}

aclError reset_device(const Site& site, std::int32_t device, bool force) noexcept {
  return guarded([&]() -> int {
    if (const int status = require_init(site)) return status;
    if (!valid_device(device)) return bad_device(site, device);
    Runtime& runtime = Runtime::instance();
    std::shared_ptr<Context> ended;
    {
      const std::lock_guard lock(runtime.mutex);
      Device& d = runtime.devices[static_cast<std::size_t>(device)];
      if (d.set_count == 0) return refuse(site, ACL_ERROR_RT_INVALID_DEVICEID, "the device was not set");
      d.was_reset = true;
      d.set_count = force ? 0 : d.set_count - 1;
      if (d.set_count > 0) return ACL_SUCCESS;
      ended = std::move(d.primary);
      d.primary = nullptr;
      runtime.contexts.remove(ended.get());
    }
    end_context(ended);
    const std::lock_guard lock(runtime.mutex);
    // Other contexts, or another thread that has set it meanwhile, keep the device and its memory.
    for (const auto& [handle, context] : runtime.contexts.live()) {
      if (context->device() == device) return ACL_SUCCESS;
    }
    runtime.memory.end_device(site, device);
    return ACL_SUCCESS;
  });
}

aclError get_device(const Site& site, std::int32_t* device) noexcept {
  return guarded([&]() -> int {
    if (device == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "deviceId is null");
    // A question that programs ask to find out, not a mistake.
    const auto context = current_context();
    if (context == nullptr) return refuse(site, ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no context");
    *device = context->device();
    return ACL_SUCCESS;
  });
}

aclError device_count(const Site& site, std::uint32_t* count) noexcept {
  return guarded([&]() -> int {
    if (count == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "count is null");
    *count = settings().device_count;
    return ACL_SUCCESS;
  });
}

aclError synchronize_device(const Site& site, std::int32_t timeout_ms) noexcept {
  return guarded([&]() -> int {
    if (timeout_ms < -1) return refuse(site, ACL_ERROR_RT_PARAM_INVALID, "timeout is " + std::to_string(timeout_ms));
    if (const int status = require_init(site)) return status;
    const auto context = require_context(site);
    if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    return synchronize(nullptr, context->device(), timeout_ms);
  });
}

aclError execution_limit(const Site& site, std::uint64_t timeout, std::uint64_t* actual) noexcept {
  return guarded([&]() -> int {
    if (actual == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "actualTimeout is null");
    *actual = timeout;
    return ACL_SUCCESS;
  });
}

aclError run_mode(const Site& site, aclrtRunMode* mode) noexcept {
  return guarded([&]() -> int {
    if (mode == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "runMode is null");
    *mode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

const char* soc_name() noexcept { return settings().soc_name.c_str(); }

aclError create_context(const Site& site, aclrtContext* context, std::int32_t device) noexcept {
  return guarded([&]() -> int {
    if (context == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "context is null");
    if (const int status = require_init(site)) return status;
    if (!valid_device(device)) return bad_device(site, device);
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    thread_context = std::make_shared<Context>(device, false);
    thread_context->created = site;
    *context = runtime.contexts.add(thread_context);
    return ACL_SUCCESS;
  });
}

aclError destroy_context(const Site& site, aclrtContext context) noexcept {
  return guarded([&]() -> int {
    if (context == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "context is null");
    Runtime& runtime = Runtime::instance();
    std::shared_ptr<Context> ended;
    {
      const std::lock_guard lock(runtime.mutex);
      ended = runtime.contexts.find(context);
      if (ended == nullptr || ended->primary()) {
        report(Finding::invalid_handle, site,
               ended == nullptr ? "context does not exist (never created, or destroyed already)"
                                : "context belongs to aclrtSetDevice: aclrtResetDevice ends it");
        return ended == nullptr ? ACL_ERROR_RT_CONTEXT_NULL : ACL_ERROR_INVALID_PARAM;
      }
      runtime.contexts.remove(context);
    }
    end_context(ended);
    return ACL_SUCCESS;
  });
}

aclError set_current_context(const Site& site, aclrtContext context) noexcept {
  return guarded([&]() -> int {
    if (context == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "context is null");
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    auto found = runtime.contexts.find(context);
    if (found == nullptr) {
      report(Finding::invalid_handle, site, "context does not exist (never created, or destroyed already)");
      return ACL_ERROR_RT_CONTEXT_NULL;
    }
    thread_context = std::move(found);
    return ACL_SUCCESS;
  });
}

aclError get_current_context(const Site& site, aclrtContext* context) noexcept {
  return guarded([&]() -> int {
    if (context == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "context is null");
    const auto current = current_context();
    if (current == nullptr) return refuse(site, ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no context");
    *context = current.get();
    return ACL_SUCCESS;
  });
}

namespace {

/// Options of the whole process; contexts have their own.
std::array<std::int64_t, 3> process_options{};

std::int64_t* find_option(const Site& site, bool per_context, aclSysParamOpt option, int& status) {
  const auto index = static_cast<std::size_t>(option);
  if (index >= process_options.size()) {
    status = refuse(site, ACL_ERROR_INVALID_PARAM, "opt is " + std::to_string(static_cast<int>(option)));
    return nullptr;
  }
  if (!per_context) return &process_options[index];
  const auto context = require_context(site);
  if (context == nullptr) {
    status = ACL_ERROR_RT_CONTEXT_NULL;
    return nullptr;
  }
  return &context->options[index];
}

}  // namespace

aclError set_option(const Site& site, bool per_context, aclSysParamOpt option, std::int64_t value) noexcept {
  return guarded([&]() -> int {
    int status = ACL_SUCCESS;
    std::int64_t* slot = find_option(site, per_context, option, status);
    if (slot == nullptr) return status;
    const std::lock_guard lock(Runtime::instance().mutex);
    *slot = value;
    return ACL_SUCCESS;
  });
}

aclError get_option(const Site& site, bool per_context, aclSysParamOpt option, std::int64_t* value) noexcept {
  return guarded([&]() -> int {
    if (value == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "value is null");
    int status = ACL_SUCCESS;
    const std::int64_t* slot = find_option(site, per_context, option, status);
    if (slot == nullptr) return status;
    const std::lock_guard lock(Runtime::instance().mutex);
    *value = *slot;
    return ACL_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
