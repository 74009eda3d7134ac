// The address space of emulated device memory.
//
// Every device address lies in a range of its own that is reserved and never accessible, so host code that dereferences
// a device pointer faults as it does with a device. The bytes lie in a second range of the same size, `shadow` turns
// one into the other. Freed addresses are handed out again only when all others are used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace mla_prolog::cann {

class Arena {
 public:
  static constexpr unsigned char kFreshByte = 0xA5;  ///< what new memory holds
  static constexpr unsigned char kGuardByte = 0xCB;  ///< between the end of an allocation and the end of its last page

  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A poisoned block with inaccessible pages on both sides; 0 when there is no memory.
  std::uintptr_t allocate(std::size_t bytes);
  /// Gives the block's pages back and keeps its addresses out of use for as long as possible.
  void release(std::uintptr_t address, std::size_t bytes);
  /// Whether the guard bytes behind the block are intact.
  bool guard_intact(std::uintptr_t address, std::size_t bytes) const;

  bool contains(std::uintptr_t address) const { return address - device_base_ < span_; }
  /// Where the byte at a device address really is.
  void* shadow(std::uintptr_t address) const { return shadow_base_ + (address - device_base_); }

 private:
  std::size_t footprint(std::size_t bytes) const;
  std::uintptr_t find_space(std::size_t footprint);

  std::size_t page_;
  std::size_t span_ = 0;
  std::uintptr_t device_base_ = 0;
  char* shadow_base_ = nullptr;
  std::uintptr_t next_ = 0;                         ///< first address never handed out
  std::map<std::uintptr_t, std::size_t> released_;  ///< by address: bytes of the range, neighbours merged
};

}  // namespace mla_prolog::cann
