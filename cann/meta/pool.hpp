// Objects that the C interface hands out as opaque pointers. A pool can tell a live object from one that was destroyed
// and from any other address without touching the memory behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace mla_prolog::cann {

enum class Life { unknown, live, destroyed };

template <typename T>
class Pool {
 public:
  /// Never destroyed: objects may be alive when the process ends.
  static Pool& instance() {
    static Pool* const pool = new Pool;
    return *pool;
  }

  template <typename... Args>
  T* create(Args&&... args) {
    const std::lock_guard lock(mutex_);
    Slot* slot = take();
    T* object = new (slot->storage) T(std::forward<Args>(args)...);
    slot->live = true;
    ++live_;
    return object;
  }

  Life life(const void* pointer) const {
    const std::lock_guard lock(mutex_);
    const Slot* slot = find(pointer);
    if (slot == nullptr || !slot->used) return Life::unknown;
    return slot->live ? Life::live : Life::destroyed;
  }

  /// False when the pointer is not that of a live object.
  bool destroy(const void* pointer) {
    const std::lock_guard lock(mutex_);
    Slot* slot = find(pointer);
    if (slot == nullptr || !slot->live) return false;
    std::launder(reinterpret_cast<T*>(slot->storage))->~T();
    slot->live = false;
    --live_;
    *(newest_free_ == nullptr ? &oldest_free_ : &newest_free_->next_free) = slot;
    newest_free_ = slot;
    ++free_count_;
    return true;
  }

  /// How many live objects fulfil a condition.
  template <typename Condition>
  std::size_t count(Condition&& condition) const {
    const std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (const auto& chunk : chunks_) {
      for (std::size_t i = 0; i < kChunk; ++i) {
        const Slot& slot = chunk[i];
        if (slot.live && condition(*std::launder(reinterpret_cast<const T*>(slot.storage)))) ++n;
      }
    }
    return n;
  }

  /// For a fork.
  std::mutex& mutex() { return mutex_; }

  std::size_t live_count() const {
    const std::lock_guard lock(mutex_);
    return live_;
  }

 private:
  struct Slot {
    alignas(T) std::byte storage[sizeof(T)];
    bool used = false;  ///< an object was here once
    bool live = false;
    Slot* next_free = nullptr;  ///< destroyed after this one
  };

  static constexpr std::size_t kChunk = 128;
  /// Destroyed objects that must lie behind one before its address is used again.
  static constexpr std::size_t kQuarantine = 64;

  Slot* take() {
    if (free_count_ > kQuarantine) {
      Slot* slot = oldest_free_;
      oldest_free_ = slot->next_free;
      slot->next_free = nullptr;
      --free_count_;
      return slot;
    }
    if (next_ == kChunk) {
      auto chunk = std::make_unique<Slot[]>(kChunk);
      const auto place = std::upper_bound(chunks_.begin(), chunks_.end(), chunk);
      newest_ = chunk.get();
      chunks_.insert(place, std::move(chunk));
      next_ = 0;
    }
    Slot* slot = newest_ + next_++;
    slot->used = true;
    return slot;
  }

  Slot* find(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    for (const auto& chunk : chunks_) {
      const auto base = reinterpret_cast<std::uintptr_t>(chunk.get());
      if (address < base || address >= base + kChunk * sizeof(Slot)) continue;
      return (address - base) % sizeof(Slot) == 0 ? chunk.get() + (address - base) / sizeof(Slot) : nullptr;
    }
    return nullptr;
  }

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slot[]>> chunks_;  ///< by address
  Slot* oldest_free_ = nullptr;
  Slot* newest_free_ = nullptr;
  std::size_t free_count_ = 0;
  Slot* newest_ = nullptr;
  std::size_t next_ = kChunk;
  std::size_t live_ = 0;
};

}  // namespace mla_prolog::cann
