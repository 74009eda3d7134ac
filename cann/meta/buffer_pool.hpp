// Host buffers that executors need for longer than a call, kept for the next executor: phase one would otherwise pay
// for fresh pages every time.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

namespace mla_prolog::cann {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(std::size_t bytes);  ///< throws std::bad_alloc
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Guards the kept buffers; for a fork.
std::mutex& buffer_mutex();

}  // namespace mla_prolog::cann
