// Hands out aligned pieces of a workspace; with a null base it only counts, so that sizing and carving are one code
// path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla_prolog {

class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Arena(std::byte* base) noexcept : base_(base) {}

  template <typename T>
  T* take(std::int64_t count) noexcept {
    const std::size_t offset = used_;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }
  std::size_t used() const noexcept { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace mla_prolog
