#include "cann/runtime/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace mla_prolog::cann {

namespace {

/// The process ends: queued work gets this long to end, too.
constexpr std::chrono::seconds kPatienceAtExit{10};

void drain_streams() {
  const auto end = std::chrono::steady_clock::now() + kPatienceAtExit;
  Runtime& runtime = Runtime::instance();
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> awaited;
  {
    // Whoever holds the lock may be a thread that does not run any more.
    std::unique_lock lock(runtime.mutex, std::try_to_lock);
    while (!lock.owns_lock() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      static_cast<void>(lock.try_lock());
    }
    if (!lock.owns_lock()) return;
    for (const StreamEntry& entry : runtime.stream_entries) {
      if (entry.stream != nullptr) awaited.emplace_back(entry.stream, entry.stream->issued());
    }
  }
  for (const auto& [stream, number] : awaited) stream->cancelled = true;
  wake_callbacks();
  for (const auto& [stream, number] : awaited) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    stream->wait(number, std::max(0, static_cast<int>(left.count())));
  }
}

std::atomic<Runtime*> existing_runtime{nullptr};

}  // namespace

Runtime& Runtime::instance() {
  static Runtime* const runtime = [] {
    drain_before_report(drain_streams);
    auto* const made = new Runtime;
    existing_runtime = made;
    return made;
  }();
  return *runtime;
}

Runtime* Runtime::existing() { return existing_runtime; }

int refuse(const Site& site, int status, const std::string& text) {
  set_error_message(std::string(site.function) + " returned " + std::to_string(status) + ": " + text);
  return status;
}

int require_init(const Site& site) {
  Runtime& runtime = Runtime::instance();
  {
    const std::lock_guard lock(runtime.mutex);
    if (runtime.init_count > 0) return ACL_SUCCESS;
    if (runtime.missing_init_reported) {
      return settings().check == CheckLevel::error ? refuse(site, ACL_ERROR_UNINITIALIZE, "aclInit was not called")
                                                   : ACL_SUCCESS;
    }
    runtime.missing_init_reported = true;
  }
  return report(Finding::missing_init, site, "aclInit was not called, or aclFinalize was called already")
             ? ACL_ERROR_UNINITIALIZE
             : ACL_SUCCESS;
}

std::shared_ptr<Context> require_context(const Site& site) {
  std::shared_ptr<Context> context = current_context();
  if (context == nullptr) {
    report(Finding::missing_device, site,
           "the calling thread has no context: aclrtSetDevice or aclrtSetCurrentContext was not called in it");
  }
  return context;
}

std::shared_ptr<Stream> make_stream(Runtime& runtime, std::shared_ptr<Context> context, const Site& site) {
  // A destroyed stream's id can serve again: its work is done and its numbers go on.
  std::uint32_t id = 0;
  while (id < runtime.stream_entries.size() && runtime.stream_entries[id].stream != nullptr) ++id;
  if (id == runtime.stream_entries.size()) runtime.stream_entries.emplace_back();
  StreamEntry& entry = runtime.stream_entries[id];
  entry.stream = std::make_shared<Stream>(id, entry.last_number, std::move(context));
  entry.created = site;
  return entry.stream;
}

namespace {

constexpr const char* kNoStream = "stream does not exist (never created, or destroyed already)";
constexpr const char* kNoContext = "stream went with its context, which was destroyed or whose device was reset";

}  // namespace

std::shared_ptr<Stream> find_stream(const Site& site, const void* handle, int& status) {
  Runtime& runtime = Runtime::instance();
  const std::shared_ptr<Context> context = require_context(site);
  if (context == nullptr) {
    status = ACL_ERROR_RT_CONTEXT_NULL;
    return nullptr;
  }
  const std::lock_guard lock(runtime.mutex);
  if (handle == nullptr && context->destroyed) {
    report(Finding::missing_device, site, "the calling thread's context was destroyed meanwhile");
    status = ACL_ERROR_RT_CONTEXT_NULL;
    return nullptr;
  }
  if (handle != nullptr) {
    std::shared_ptr<Stream> stream = runtime.streams.find(handle);
    const bool foreign = stream != nullptr && stream->foreign();
    if (stream != nullptr && !foreign && stream->context() == context) return stream;
    const bool other_context = stream != nullptr && !foreign && !stream->context()->destroyed;
    if (stream != nullptr && !other_context) stream->lost = true;
    report(Finding::invalid_handle, site,
           stream == nullptr ? kNoStream
           : foreign         ? "stream belongs to the parent process: it was created before fork"
           : other_context   ? "stream belongs to another context than the calling thread's current one"
                             : kNoContext);
    status = other_context ? ACL_ERROR_RT_STREAM_CONTEXT : ACL_ERROR_RT_INVALID_HANDLE;
    return nullptr;
  }
  if (context->default_stream == nullptr || context->default_stream->foreign()) {
    context->default_stream = make_stream(runtime, context, site);
  }
  return context->default_stream;
}

int check_alive(const Site& site, Stream& stream) {
  const bool without_context = stream.context()->destroyed;
  if (!stream.ended && !without_context) return ACL_SUCCESS;
  stream.lost = true;
  report(Finding::invalid_handle, site, without_context ? kNoContext : kNoStream);
  return ACL_ERROR_RT_INVALID_HANDLE;
}

Enqueue::Enqueue(const Site& site, const void* handle) : stream_(find_stream(site, handle, status_)) {
  if (stream_ == nullptr) return;
  slot_ = stream_->begin(task_);
  lock_ = std::unique_lock(Runtime::instance().mutex);
  status_ = check_alive(site, *stream_);
}

bool check_races(Runtime& runtime, const Site& site, Stream& stream, std::span<const Use> uses) {
  stream.clock.join(runtime.host);
  bool refused = false;
  for (const Use& use : uses) {
    if (use.range.allocation == nullptr || use.range.usable == 0) continue;
    const auto other = Memory::conflict(*use.range.allocation, use.range.offset, use.range.offset + use.range.usable,
                                        use.write, stream.clock);
    if (!other) continue;
    refused |= report(
        Finding::stream_race, site,
        std::string(use.argument) + " is " + (use.write ? "written" : "read") + " while work of another stream " +
            (other->write ? "writes" : "reads") + " it, with no event or synchronisation between them: " +
            runtime.memory.describe(reinterpret_cast<void*>(use.range.allocation->address + use.range.offset),
                                    {Place::device, use.range.allocation, use.range.offset}));
  }
  return refused;
}

void take_hold(Runtime& runtime, Stream& stream, Task& task, std::span<const Use> uses) {
  for (const Use& use : uses) {
    if (use.range.allocation == nullptr || use.range.usable == 0) continue;
    Memory::record(
        *use.range.allocation,
        {stream.id(), stream.next_number(), use.range.offset, use.range.offset + use.range.usable, use.write},
        runtime.host);
    runtime.memory.pin(*use.range.allocation);
    task.pins[task.pin_count++] = use.range.allocation;
  }
}

void settle(Runtime& runtime, std::unique_lock<std::mutex>& lock, const Allocation& allocation) {
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> awaited;
  for (const Access& access : allocation.accesses) {
    if (const auto& stream = runtime.stream_entries[access.stream].stream) awaited.emplace_back(stream, access.number);
  }
  lock.unlock();
  for (const auto& [stream, number] : awaited) stream->wait(number);
  lock.lock();
}

}  // namespace mla_prolog::cann
