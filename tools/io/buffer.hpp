// Owned, aligned, uninitialised bytes: what tensors and workspaces live in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "runtime/system/huge_pages.hpp"

namespace mla_prolog::tools {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  /// Content is indeterminate. Throws std::bad_alloc.
  explicit Buffer(std::size_t bytes)
      : bytes_(bytes), data_(bytes == 0 ? nullptr : ::operator new (bytes, std::align_val_t{kAlignment})) {
    advise_huge_pages(data_.get(), bytes);
  }

  static Buffer zeros(std::size_t bytes) {
    Buffer buffer(bytes);
    std::ranges::fill(buffer.bytes(), std::byte{0});
    return buffer;
  }
  static Buffer copy_of(std::span<const std::byte> source) {
    Buffer buffer(source.size());
    std::ranges::copy(source, buffer.bytes().begin());
    return buffer;
  }

  std::size_t size() const noexcept { return bytes_; }
  /// Null when empty.
  void* data() noexcept { return data_.get(); }
  const void* data() const noexcept { return data_.get(); }

  std::span<std::byte> bytes() noexcept { return {static_cast<std::byte*>(data_.get()), bytes_}; }
  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data_.get()), bytes_}; }

  /// The content as elements of T.
  template <typename T>
  std::span<T> as() noexcept {
    return {static_cast<T*>(data_.get()), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const noexcept {
    return {static_cast<const T*>(data_.get()), bytes_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(void* pointer) const noexcept { ::operator delete (pointer, std::align_val_t{kAlignment}); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<void, Free> data_;
};

}  // namespace mla_prolog::tools
