// Streams, events and callbacks.
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <string>

#include "cann/runtime/api.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::shared_ptr<Event> find_event(Runtime& runtime, const Site& site, const void* handle, int& status) {
  auto event = runtime.events.find(handle);
  if (event == nullptr) {
    report(Finding::invalid_handle, site, "event does not exist (never created, or destroyed already)");
    status = ACL_ERROR_RT_INVALID_HANDLE;
  }
  return event;
}

/// Waits for a stream up to `number` and takes in what the wait tells the host.
int join_stream(Stream& stream, std::uint64_t number, const Clock& clock, std::int32_t timeout_ms) {
  if (!stream.wait(number, timeout_ms)) return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
  {
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    runtime.host.join(clock);
  }
  std::string text;
  const int error = stream.take_error(text);
  if (error != 0) set_error_message(std::move(text));
  return error;
}

/// Callbacks that wait for a thread to process them, by subscribed thread.
struct CallbackQueue {
  struct Entry {
    aclrtCallback function;
    void* data;
    Clock clock;  ///< what the callback is ordered behind
    bool done = false;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, std::deque<std::shared_ptr<Entry>>> waiting;
};

CallbackQueue& callbacks() {
  static CallbackQueue* queue = [] {
    // Threads of the parent may hold the lock or wait; what they leave to a forked child is of no use.
    pthread_atfork(nullptr, nullptr, [] { queue = new CallbackQueue; });
    return new CallbackQueue;
  }();
  return *queue;
}

/// How long a stream that is being destroyed waits for a callback that blocks it.
constexpr std::chrono::seconds kPatience{1};

struct Call {
  CallbackQueue::Entry* entry;
  Stream* stream;
  std::uint64_t thread;
  std::uint64_t unsubscribed;
  bool block;
};

/// The stream has come to a callback.
int hand_over(Task& task) {
  const Call& call = task.get<Call>();
  CallbackQueue& queue = callbacks();
  std::unique_lock<std::mutex> guard(queue.mutex);
  queue.waiting[call.thread].push_back(std::static_pointer_cast<CallbackQueue::Entry>(task.owner));
  queue.changed.notify_all();
  if (!call.block) return ACL_SUCCESS;
  const auto released = [&] {
    return call.entry->done || call.stream->cancelled || call.stream->unsubscribed != call.unsubscribed;
  };
  queue.changed.wait(guard, [&] { return released() || call.stream->closing; });
  if (!released()) queue.changed.wait_for(guard, kPatience, released);
  if (!call.entry->done) {
    std::erase_if(queue.waiting[call.thread], [&](const auto& entry) { return entry.get() == call.entry; });
  }
  return ACL_SUCCESS;
}

}  // namespace

void wake_callbacks() {
  CallbackQueue& queue = callbacks();
  const std::lock_guard lock(queue.mutex);
  queue.changed.notify_all();
}

namespace api {

aclError create_stream(const Site& site, aclrtStream* stream) noexcept {
  return guarded([&]() -> int {
    if (stream == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "stream is null");
    if (const int status = require_init(site)) return status;
    const auto context = require_context(site);
    if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    const auto made = make_stream(runtime, context, site);
    made->start();
    *stream = runtime.streams.add(made);
    return ACL_SUCCESS;
  });
}

aclError destroy_stream(const Site& site, aclrtStream handle, bool force) noexcept {
  return guarded([&]() -> int {
    if (handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "stream is null");
    int status = ACL_SUCCESS;
    const auto stream = find_stream(site, handle, status);
    if (stream == nullptr) return status;
    Runtime& runtime = Runtime::instance();
    bool served = false;
    {
      const std::lock_guard lock(runtime.mutex);
      if ((status = check_alive(site, *stream)) != ACL_SUCCESS) return status;
      if (!force && runtime.host.at(stream->id()) < stream->issued() &&
          report(Finding::destroyed_while_in_use, site, "the stream's last work was not waited for")) {
        return ACL_ERROR_RT_STREAM_NOT_COMPLETE;
      }
      runtime.streams.remove(handle);
      stream->ended = true;
      served = stream->callback_thread != 0 && stream->callback_thread != static_cast<std::uint64_t>(pthread_self());
    }
    // A callback that nobody can serve any more must not keep the stream from ending.
    (force || !served ? stream->cancelled : stream->closing) = true;
    wake_callbacks();
    stream->stop();
    const std::lock_guard lock(runtime.mutex);
    StreamEntry& entry = runtime.stream_entries[stream->id()];
    entry.last_number = stream->issued();
    entry.stream = nullptr;
    runtime.host.join(stream->clock);
    return ACL_SUCCESS;
  });
}

aclError synchronize_stream(const Site& site, aclrtStream handle, std::int32_t timeout_ms) noexcept {
  return guarded([&]() -> int {
    if (timeout_ms < -1) return refuse(site, ACL_ERROR_RT_PARAM_INVALID, "timeout is " + std::to_string(timeout_ms));
    if (const int status = require_init(site)) return status;
    int status = ACL_SUCCESS;
    const auto stream = find_stream(site, handle, status);
    if (stream == nullptr) return status;
    std::uint64_t number = 0;
    thread_local Clock clock;  // keeps its memory: waiting allocates nothing
    {
      const std::lock_guard lock(Runtime::instance().mutex);
      number = stream->issued();
      clock = stream->clock;
    }
    return join_stream(*stream, number, clock, timeout_ms);
  });
}

aclError query_stream(const Site& site, aclrtStream handle, aclrtStreamStatus* result) noexcept {
  return guarded([&]() -> int {
    if (result == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "status is null");
    int status = ACL_SUCCESS;
    const auto stream = find_stream(site, handle, status);
    if (stream == nullptr) return status;
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    *result = stream->done(stream->issued()) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    if (*result == ACL_STREAM_STATUS_COMPLETE) runtime.host.join(stream->clock);
    return ACL_SUCCESS;
  });
}

aclError stream_wait_event(const Site& site, aclrtStream handle, aclrtEvent event_handle,
                           std::int32_t timeout) noexcept {
  return guarded([&]() -> int {
    if (timeout < 0) return refuse(site, ACL_ERROR_RT_PARAM_INVALID, "timeout is " + std::to_string(timeout));
    if (event_handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    Enqueue queue(site, handle);
    int status = queue.status();
    if (status != ACL_SUCCESS) return status;
    const auto event = find_event(Runtime::instance(), site, event_handle, status);
    if (event == nullptr) return status;
    if (event->last == nullptr) return ACL_SUCCESS;
    struct Wait {
      EventRecord* record;
    };
    queue.task().set(
        [](Task& t) -> int {
          const EventRecord& record = *t.get<Wait>().record;
          record.stream->wait(record.number);
          return ACL_SUCCESS;
        },
        Wait{event->last.get()});
    queue.task().owner = event->last;
    queue.stream().clock.join(event->last->clock);
    queue.commit();
    return ACL_SUCCESS;
  });
}

aclError set_failure_mode(const Site& site, aclrtStream handle, std::uint64_t mode) noexcept {
  return guarded([&]() -> int {
    if (handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "stream is null");
    if (mode > ACL_STOP_ON_FAILURE) return refuse(site, ACL_ERROR_INVALID_PARAM, "mode is " + std::to_string(mode));
    int status = ACL_SUCCESS;
    static_cast<void>(find_stream(site, handle, status));
    return status;
  });
}

aclError subscribe(const Site& site, std::uint64_t thread, aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    int status = ACL_SUCCESS;
    const auto stream = find_stream(site, handle, status);
    if (stream == nullptr) return status;
    const std::lock_guard lock(Runtime::instance().mutex);
    stream->callback_thread = thread;
    return ACL_SUCCESS;
  });
}

aclError unsubscribe(const Site& site, std::uint64_t thread, aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    int status = ACL_SUCCESS;
    const auto stream = find_stream(site, handle, status);
    if (stream == nullptr) return status;
    {
      const std::lock_guard lock(Runtime::instance().mutex);
      if (stream->callback_thread != thread) {
        return refuse(site, ACL_ERROR_RT_THREAD_SUBSCRIBE, "the thread is not subscribed to the stream");
      }
      stream->callback_thread = 0;
      ++stream->unsubscribed;
    }
    wake_callbacks();
    return ACL_SUCCESS;
  });
}

aclError process_report(const Site& site, std::int32_t timeout_ms) noexcept {
  return guarded([&]() -> int {
    CallbackQueue& queue = callbacks();
    std::unique_lock<std::mutex> lock(queue.mutex);
    auto& waiting = queue.waiting[static_cast<std::uint64_t>(pthread_self())];
    const auto ready = [&] { return !waiting.empty(); };
    if (timeout_ms < 0) {
      queue.changed.wait(lock, ready);
    } else if (!queue.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready)) {
      return refuse(site, ACL_ERROR_RT_REPORT_TIMEOUT, "no callback came");
    }
    const auto entry = waiting.front();
    waiting.pop_front();
    lock.unlock();
    {
      // What the stream did before the callback is done, and the callback may look at it.
      Runtime& runtime = Runtime::instance();
      const std::lock_guard guard(runtime.mutex);
      runtime.host.join(entry->clock);
    }
    entry->function(entry->data);
    lock.lock();
    entry->done = true;
    queue.changed.notify_all();
    return ACL_SUCCESS;
  });
}

aclError launch_callback(const Site& site, aclrtCallback function, void* data, aclrtCallbackBlockType type,
                         aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    if (function == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "fn is null");
    Enqueue queue(site, handle);
    if (queue.status() != ACL_SUCCESS) return queue.status();
    Stream& stream = queue.stream();
    if (stream.callback_thread == 0) {
      return refuse(site, ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread is subscribed to the stream's callbacks");
    }
    auto entry = std::make_shared<CallbackQueue::Entry>(CallbackQueue::Entry{function, data, stream.clock});
    queue.task().set(
        hand_over, Call{entry.get(), &stream, stream.callback_thread, stream.unsubscribed, type == ACL_CALLBACK_BLOCK});
    queue.task().owner = std::move(entry);
    queue.commit();
    return ACL_SUCCESS;
  });
}

aclError create_event(const Site& site, aclrtEvent* event) noexcept {
  return guarded([&]() -> int {
    if (event == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    if (const int status = require_init(site)) return status;
    if (require_context(site) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    *event = runtime.events.add(std::make_shared<Event>(Event{site, nullptr}));
    return ACL_SUCCESS;
  });
}

aclError destroy_event(const Site& site, aclrtEvent handle) noexcept {
  return guarded([&]() -> int {
    if (handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    int status = ACL_SUCCESS;
    const auto event = find_event(runtime, site, handle, status);
    if (event == nullptr) return status;
    runtime.events.remove(handle);
    event->last = nullptr;
    return ACL_SUCCESS;
  });
}

aclError record_event(const Site& site, aclrtEvent event_handle, aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    if (event_handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    Enqueue queue(site, handle);
    int status = queue.status();
    if (status != ACL_SUCCESS) return status;
    const auto event = find_event(Runtime::instance(), site, event_handle, status);
    if (event == nullptr) return status;
    auto record = std::make_shared<EventRecord>();
    record->stream = queue.shared_stream();
    record->number = queue.stream().next_number();
    struct Mark {
      EventRecord* record;
    };
    queue.task().set(
        [](Task& t) -> int {
          t.get<Mark>().record->time_ns = now_ns();
          return ACL_SUCCESS;
        },
        Mark{record.get()});
    queue.task().owner = record;
    queue.commit();
    record->clock = queue.stream().clock;
    event->last = std::move(record);
    return ACL_SUCCESS;
  });
}

aclError reset_event(const Site& site, aclrtEvent event_handle, aclrtStream handle) noexcept {
  return guarded([&]() -> int {
    if (event_handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    int status = ACL_SUCCESS;
    if (find_stream(site, handle, status) == nullptr) return status;
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    const auto event = find_event(runtime, site, event_handle, status);
    if (event == nullptr) return status;
    event->last = nullptr;
    return ACL_SUCCESS;
  });
}

aclError query_event(const Site& site, aclrtEvent handle, bool* complete) noexcept {
  return guarded([&]() -> int {
    if (handle == nullptr || complete == nullptr) {
      return refuse(site, ACL_ERROR_INVALID_PARAM, handle == nullptr ? "event is null" : "status is null");
    }
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    int status = ACL_SUCCESS;
    const auto event = find_event(runtime, site, handle, status);
    if (event == nullptr) return status;
    *complete = event->last != nullptr && event->last->stream->done(event->last->number);
    if (*complete) runtime.host.join(event->last->clock);
    return ACL_SUCCESS;
  });
}

aclError synchronize_event(const Site& site, aclrtEvent handle, std::int32_t timeout_ms) noexcept {
  return guarded([&]() -> int {
    if (handle == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "event is null");
    if (timeout_ms < -1) return refuse(site, ACL_ERROR_RT_PARAM_INVALID, "timeout is " + std::to_string(timeout_ms));
    std::shared_ptr<EventRecord> record;
    {
      Runtime& runtime = Runtime::instance();
      const std::lock_guard lock(runtime.mutex);
      int status = ACL_SUCCESS;
      const auto event = find_event(runtime, site, handle, status);
      if (event == nullptr) return status;
      record = event->last;
    }
    if (record == nullptr) return ACL_SUCCESS;
    const int status = join_stream(*record->stream, record->number, record->clock, timeout_ms);
    return status == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT ? ACL_ERROR_RT_EVENT_SYNC_TIMEOUT : status;
  });
}

aclError elapsed_time(const Site& site, float* ms, aclrtEvent start, aclrtEvent end) noexcept {
  return guarded([&]() -> int {
    if (ms == nullptr || start == nullptr || end == nullptr) {
      return refuse(site, ACL_ERROR_INVALID_PARAM, "ms, startEvent and endEvent must not be null");
    }
    Runtime& runtime = Runtime::instance();
    const std::lock_guard lock(runtime.mutex);
    int status = ACL_SUCCESS;
    const auto first = find_event(runtime, site, start, status);
    const auto last = first == nullptr ? nullptr : find_event(runtime, site, end, status);
    if (last == nullptr) return status;
    if (first->last == nullptr || last->last == nullptr) {
      return refuse(site, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "an event was not recorded");
    }
    if (!first->last->stream->done(first->last->number) || !last->last->stream->done(last->last->number)) {
      return refuse(site, ACL_ERROR_RT_EVENT_NOT_COMPLETE, "an event has not happened yet");
    }
    const std::int64_t duration = last->last->time_ns - first->last->time_ns;
    if (duration < 0) return refuse(site, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "endEvent happened before startEvent");
    *ms = static_cast<float>(static_cast<double>(duration) * 1e-6);
    return ACL_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
