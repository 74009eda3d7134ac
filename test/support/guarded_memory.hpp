// Memory whose neighbourhood is watched: an inaccessible page on either side, and a known pattern in what is left of
// the first and last page. A stray access faults at once; a stray write that stays inside a page is found by `intact`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mla_prolog/tensor.hpp"

namespace mla_prolog::test {

class GuardedMemory {
 public:
  enum class Side : std::uint8_t {
    end,   ///< the last byte touches the inaccessible page (but for alignment)
    begin  ///< the first byte does
  };

  GuardedMemory() = default;
  /// `alignment` is what the address is a multiple of and, for `Side::end`, by design not more than that.
  explicit GuardedMemory(std::size_t bytes, std::size_t alignment = 1, Side side = Side::end);

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  bool intact() const;
  /// Makes writing fault, or possible again.
  void set_read_only(bool read_only) const;

 private:
  struct Mapping {
    Mapping(std::byte* first, std::size_t size) : base(first), bytes(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    std::byte* base;
    std::size_t bytes;
  };

  std::shared_ptr<Mapping> mapping_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A tensor in guarded memory of exactly its extent, aligned to its elements and no more.
class GuardedTensor {
 public:
  GuardedTensor() = default;
  explicit GuardedTensor(const TensorDesc& desc, GuardedMemory::Side side = GuardedMemory::Side::end);

  const TensorDesc& desc() const { return desc_; }
  TensorView view() const { return {desc_, data()}; }
  std::byte* data() const { return memory_.data(); }
  std::span<std::byte> bytes() const { return memory_.bytes(); }
  bool intact() const { return memory_.intact(); }
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(memory_.data()), memory_.size() / sizeof(T)};
  }
  std::vector<std::byte> snapshot() const { return {bytes().begin(), bytes().end()}; }
  void fill(std::byte value) const;

 private:
  TensorDesc desc_;
  GuardedMemory memory_;
};

}  // namespace mla_prolog::test
