#include "cann/runtime/stream.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <new>
#include <utility>

#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

std::atomic<std::uint32_t> forks{0};
[[maybe_unused]] const int counting = pthread_atfork(nullptr, nullptr, [] { ++forks; });

// An exception out of the worker would end the process.
int perform(Task& task) {
  try {
    return task.function(task);
  } catch (const std::bad_alloc&) {
    task.plain_error = "the host has no memory for the work of this stream";
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
  }
}

}  // namespace

Stream::Stream(std::uint32_t id, std::uint64_t first_number, std::shared_ptr<Context> context)
    : forks_(forks),
      id_(id),
      context_(std::move(context)),
      ring_(kSlots),
      issued_(first_number),
      queued_(first_number),
      completed_(first_number) {}

Stream::~Stream() {
  cancelled = true;
  wake_callbacks();
  stop();
}

std::uint32_t fork_count() { return forks; }

bool Stream::foreign() const { return forks_ != forks; }

void Stream::start() {
  const std::lock_guard lock(mutex_);
  start_locked();
}

void Stream::start_locked() {
  if (!worker_.joinable() && !stopping_) worker_ = std::thread([this] { work(); });
}

std::unique_lock<std::mutex> Stream::begin(Task*& slot) {
  std::unique_lock<std::mutex> producer(producer_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return queued_ - completed_ < kSlots; });
  start_locked();
  slot = &ring_[(queued_ + 1) % kSlots];
  slot->pin_count = 0;
  slot->error.clear();
  slot->plain_error = nullptr;
  return producer;
}

void Stream::commit(const Clock& host) {
  clock.join(host);
  clock.raise(id_, ++issued_);
  const std::lock_guard lock(mutex_);
  queued_ = issued_;
  changed_.notify_all();
}

bool Stream::wait(std::uint64_t number, std::int32_t timeout_ms) {
  if (foreign()) return true;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto reached = [&] { return completed_ >= number; };
  if (timeout_ms < 0) {
    changed_.wait(lock, reached);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached);
}

bool Stream::done(std::uint64_t number) {
  if (foreign()) return true;
  const std::lock_guard lock(mutex_);
  return completed_ >= number;
}

int Stream::take_error(std::string& text) {
  if (foreign()) return 0;
  const std::lock_guard lock(mutex_);
  const int error = error_;
  if (plain_error_ != nullptr) {
    text = plain_error_;
  } else {
    text = std::move(error_text_);
  }
  error_text_.clear();
  plain_error_ = nullptr;
  error_ = 0;
  return error;
}

void Stream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

void Stream::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return completed_ < queued_ || stopping_; });
    if (completed_ == queued_) return;
    Task& task = ring_[(completed_ + 1) % kSlots];
    lock.unlock();
    const int status = perform(task);
    task.owner.reset();
    if (task.pin_count > 0) {
      Runtime& runtime = Runtime::instance();
      const std::lock_guard guard(runtime.mutex);
      for (std::size_t i = 0; i < task.pin_count; ++i) runtime.memory.unpin(*task.pins[i]);
    }
    lock.lock();
    if (status != 0 && error_ == 0) {
      error_ = status;
      // Nothing may throw here: it would end the process.
      error_text_ = std::move(task.error);
      plain_error_ = task.plain_error;
    }
    ++completed_;
    changed_.notify_all();
  }
}

}  // namespace mla_prolog::cann
