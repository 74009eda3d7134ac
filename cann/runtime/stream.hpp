// A stream: an ordered queue of work and the thread that does it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "cann/runtime/checker.hpp"
#include "cann/runtime/clock.hpp"

namespace mla_prolog::cann {

struct Allocation;
class Context;

/// One piece of work. Lives in a slot of the stream's ring, so enqueueing allocates nothing.
struct Task {
  static constexpr std::size_t kMaxPins = 40;
  static constexpr std::size_t kPayloadBytes = 384;

  /// Does the work; returns 0 or the status that the next synchronisation shall return.
  using Function = int (*)(Task&);

  Function function = nullptr;
  Site site;
  std::array<Allocation*, kMaxPins> pins{};
  std::size_t pin_count = 0;
  std::string error;                  ///< text of a failure
  const char* plain_error = nullptr;  ///< instead, where memory for a text may be what is missing
  std::shared_ptr<void> owner;        ///< whatever must outlive the work
  alignas(16) std::array<std::byte, kPayloadBytes> payload{};

  template <typename T>
  T& set(Function work, const T& value) {
    static_assert(sizeof(T) <= kPayloadBytes && std::is_trivially_copyable_v<T>);
    function = work;
    return *new (payload.data()) T(value);
  }
  template <typename T>
  T& get() {
    return *std::launder(reinterpret_cast<T*>(payload.data()));
  }
};

class Stream {
 public:
  Stream(std::uint32_t id, std::uint64_t first_number, std::shared_ptr<Context> context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Starts the worker; the first `begin` does it otherwise.
  void start();

  /// Reserves the next slot; waits while the queue is full. Must not be called with Runtime::mutex held. Until the
  /// lock is gone no other thread enqueues on this stream.
  [[nodiscard]] std::unique_lock<std::mutex> begin(Task*& slot);
  /// Queues the task in the reserved slot. Runtime::mutex must be held: it orders the clocks, and tells whether the
  /// stream has `ended` since the slot was reserved.
  void commit(const Clock& host);

  /// Number the next committed task will have, and the last committed one has.
  std::uint64_t next_number() const { return issued_ + 1; }
  std::uint64_t issued() const { return issued_; }

  /// Waits until work up to `number` is done; false after `timeout_ms` (negative: never).
  bool wait(std::uint64_t number, std::int32_t timeout_ms = -1);
  bool done(std::uint64_t number);

  /// The first failure since the last call, with its text.
  int take_error(std::string& text);

  /// Ends the worker after the queued work.
  void stop();

  /// Whether the stream was made before this process was forked: its worker is in the parent. Nothing can be queued on
  /// it, nothing is waited for, and it must not be destroyed, since its lock and its worker's place in a wait are lost.
  bool foreign() const;

  std::uint32_t id() const { return id_; }
  const std::shared_ptr<Context>& context() const { return context_; }

  Clock clock;                        ///< what the next work is ordered behind; guarded by Runtime::mutex
  std::uint64_t callback_thread = 0;  ///< thread subscribed to callbacks, 0: none; guarded by Runtime::mutex
  bool lost = false;                  ///< used after its context ended, which was reported; guarded by Runtime::mutex
  bool ended = false;                 ///< nothing may be queued any more; guarded by Runtime::mutex

  // What a callback that blocks the stream looks at while nobody serves it; changed with wake_callbacks() after it.
  std::atomic<std::uint64_t> unsubscribed{0};  ///< how often a thread's subscription ended
  std::atomic<bool> closing{false};            ///< callbacks are given a moment more
  std::atomic<bool> cancelled{false};          ///< callbacks are dropped

 private:
  static constexpr std::size_t kSlots = 256;

  void start_locked();
  void work();

  const std::uint32_t forks_;  ///< of the process, when it was made
  const std::uint32_t id_;
  const std::shared_ptr<Context> context_;
  std::mutex producer_;  ///< held from begin to commit
  std::mutex mutex_;     ///< guards what follows
  std::condition_variable changed_;
  std::vector<Task> ring_;
  std::uint64_t issued_;     ///< written by producers with Runtime::mutex held
  std::uint64_t queued_;     ///< last number the worker may take
  std::uint64_t completed_;  ///< last number done
  int error_ = 0;
  std::string error_text_;
  const char* plain_error_ = nullptr;  ///< instead of it
  bool stopping_ = false;
  std::thread worker_;
};

/// Forks between this process and the one that loaded the library.
std::uint32_t fork_count();

/// Makes callbacks that wait to be served look at their stream again. Runtime::mutex must not be held.
void wake_callbacks();

}  // namespace mla_prolog::cann
