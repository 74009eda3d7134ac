// Memory of a cache line's alignment, in huge pages where there are any, as a server would hold weights.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "runtime/system/huge_pages.hpp"

namespace mla_prolog::bench {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes)
      : size_(bytes), data_(static_cast<std::byte*>(::operator new (bytes + 1, std::align_val_t{64}))) {
    advise_huge_pages(data_.get(), bytes);
  }

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_.get(), size_}; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace mla_prolog::bench
