// The process-wide state of the emulated runtime, and what its functions share.
//
// Lock order: Stream::begin, then Runtime::mutex, then what Stream guards inside. Nothing waits for a worker with
// Runtime::mutex held.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "cann/runtime/checker.hpp"
#include "cann/runtime/clock.hpp"
#include "cann/runtime/memory.hpp"
#include "cann/runtime/settings.hpp"
#include "cann/runtime/stream.hpp"

namespace mla_prolog::cann {

/// Streams, events or contexts by handle. Destroyed ones keep their address for a while, so that a stale handle does
/// not become a fresh one.
template <typename T>
class HandleTable {
 public:
  void* add(std::shared_ptr<T> object) {
    void* handle = object.get();
    live_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> find(const void* handle) const {
    const auto it = live_.find(handle);
    return it == live_.end() ? nullptr : it->second;
  }
  std::shared_ptr<T> remove(const void* handle) {
    const auto it = live_.find(handle);
    if (it == live_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    live_.erase(it);
    graveyard_.push_back(object);
    if (graveyard_.size() > kKept) graveyard_.pop_front();
    return object;
  }
  const std::unordered_map<const void*, std::shared_ptr<T>>& live() const { return live_; }

 private:
  static constexpr std::size_t kKept = 256;

  std::unordered_map<const void*, std::shared_ptr<T>> live_;
  std::deque<std::shared_ptr<T>> graveyard_;
};

class Context {
 public:
  Context(std::int32_t device, bool primary) : device_(device), primary_(primary) {}

  std::int32_t device() const { return device_; }
  bool primary() const { return primary_; }

  std::atomic<bool> destroyed{false};
  Site created;                            ///< by aclrtCreateContext
  bool leak_reported = false;              ///< guarded by Runtime::mutex
  std::array<std::int64_t, 3> options{};   ///< by aclSysParamOpt
  std::shared_ptr<Stream> default_stream;  ///< made at first use

 private:
  std::int32_t device_;
  bool primary_;
};

/// One aclrtRecordEvent.
struct EventRecord {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;
  Clock clock;
  std::atomic<std::int64_t> time_ns{0};
};

struct Event {
  Site created;
  std::shared_ptr<EventRecord> last;  ///< null: not recorded since creation or reset
};

struct Device {
  int set_count = 0;
  bool was_reset = false;  ///< since it was set first; threads that never reset it are common
  std::shared_ptr<Context> primary;
};

struct StreamEntry {
  std::shared_ptr<Stream> stream;  ///< null once destroyed
  std::uint64_t last_number = 0;
  Site created;
};

struct Runtime {
  /// Never destroyed: workers may outlive main.
  static Runtime& instance();
  /// Null before the first call.
  static Runtime* existing();

  Runtime() : memory(settings().device_memory), devices(settings().device_count) {}

  std::mutex mutex;
  Memory memory;
  Clock host;  ///< what the host has waited for; all host threads count as one
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Context> contexts;
  std::vector<StreamEntry> stream_entries;  ///< by stream id
  std::vector<Device> devices;
  int init_count = 0;
  bool missing_init_reported = false;
};

/// 0, or the status with which a call before aclInit must fail.
int require_init(const Site& site);
/// The calling thread's context; null, with a finding, when it has none.
std::shared_ptr<Context> require_context(const Site& site);
/// The calling thread's context, or null.
std::shared_ptr<Context> current_context();

/// The stream of a handle; a null handle is the current context's default stream. Null, with a finding and a status,
/// when there is none. Takes Runtime::mutex.
std::shared_ptr<Stream> find_stream(const Site& site, const void* handle, int& status);
/// Runtime::mutex must be held.
std::shared_ptr<Stream> make_stream(Runtime& runtime, std::shared_ptr<Context> context, const Site& site);

/// 0, or, with a finding, the status for a stream that was destroyed, or went with its context, since it was found.
/// Runtime::mutex must be held.
int check_alive(const Site& site, Stream& stream);

/// A slot at the end of a stream's queue: the stream is found, the slot reserved (which waits while the queue is full),
/// and Runtime::mutex taken and held. Nothing is queued unless it is committed.
class Enqueue {
 public:
  Enqueue(const Site& site, const void* handle);

  /// Why there is no slot; 0: there is one.
  int status() const { return status_; }
  Stream& stream() const { return *stream_; }
  const std::shared_ptr<Stream>& shared_stream() const { return stream_; }
  Task& task() const { return *task_; }
  void commit() { stream_->commit(Runtime::instance().host); }

 private:
  int status_ = 0;
  std::shared_ptr<Stream> stream_;
  Task* task_ = nullptr;
  std::unique_lock<std::mutex> slot_;
  std::unique_lock<std::mutex> lock_;
};

/// What a task does with a range of memory.
struct Use {
  Range range;
  std::size_t bytes = 0;
  bool write = false;
  const char* argument = "";
};

/// Checks a task's uses against queued work of other streams. Runtime::mutex must be held.
/// @return whether the call must fail
bool check_races(Runtime& runtime, const Site& site, Stream& stream, std::span<const Use> uses);
/// Notes the uses and keeps their memory alive until the task is done. Runtime::mutex must be held.
void take_hold(Runtime& runtime, Stream& stream, Task& task, std::span<const Use> uses);

/// Waits until queued work that uses the allocation is done. The lock is given up meanwhile.
void settle(Runtime& runtime, std::unique_lock<std::mutex>& lock, const Allocation& allocation);

/// Keeps C++ exceptions from crossing the C interface.
template <typename F>
int guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return ACL_ERROR_BAD_ALLOC;
  } catch (...) {
    return ACL_ERROR_INTERNAL_ERROR;
  }
}

/// Refuses a call for its arguments: the text becomes the thread's error message.
int refuse(const Site& site, int status, const std::string& text);

}  // namespace mla_prolog::cann
