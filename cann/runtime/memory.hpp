// What memory the program has allocated, where, and which queued work uses it.
//
// Nothing here locks: all members of Memory are called with Runtime::mutex held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cann/runtime/arena.hpp"
#include "cann/runtime/checker.hpp"
#include "cann/runtime/clock.hpp"

namespace mla_prolog::cann {

/// Use of a range by one piece of queued work.
struct Access {
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
  std::size_t begin = 0;  ///< relative to the allocation
  std::size_t end = 0;
  bool write = false;
};

struct Allocation {
  enum class Kind { device, host };
  enum class State { live, freed };

  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  State state = State::live;
  std::int32_t device = 0;  ///< that it is on; of no meaning for host memory
  Site allocated;
  Site freed;
  int pins = 0;  ///< queued or running work that holds pointers into it
  bool leak_reported = false;
  std::vector<Access> accesses;
};

enum class Place { null, host, pinned_host, freed_host, device, freed_device, unallocated_device };

struct Located {
  Place place = Place::null;
  Allocation* allocation = nullptr;  ///< for unallocated_device: the one before it, if any
  std::size_t offset = 0;            ///< of the address in (or behind the start of) the allocation

  bool on_device() const {
    return place == Place::device || place == Place::freed_device || place == Place::unallocated_device;
  }
};

/// A range as far as it can be used.
struct Range {
  void* bytes = nullptr;  ///< host address of its first byte; null when nothing of it is usable
  std::size_t usable = 0;
  Allocation* allocation = nullptr;
  std::size_t offset = 0;
  bool refuse = false;  ///< a finding that must make the call fail
};

class Memory {
 public:
  explicit Memory(std::size_t capacity) : capacity_(capacity) {}
  ~Memory();

  Allocation* allocate_device(const Site& site, std::size_t bytes, std::int32_t device);
  Allocation* allocate_host(const Site& site, std::size_t bytes);
  /// Ends an allocation's life; its bytes stay while queued work needs them.
  void free(Allocation& allocation, const Site& site);
  void pin(Allocation& allocation) { ++allocation.pins; }
  void unpin(Allocation& allocation);

  Located locate(const void* pointer) const;
  /// "0x7f00 (16 bytes into 64 bytes of device memory allocated at prog+0x12 (main))"
  std::string describe(const void* pointer, const Located& located) const;

  /// Checks that `bytes` bytes at `pointer` are device (or host) memory, reporting what is wrong. Memory of the wrong
  /// kind is usable; memory that is not allocated is not.
  Range check_range(const Site& site, const char* argument, const void* pointer, std::size_t bytes, bool want_device);

  /// The first recorded use of the range that is not ordered before `known` and conflicts with this one.
  static std::optional<Access> conflict(const Allocation& allocation, std::size_t begin, std::size_t end, bool write,
                                        const Clock& known);
  static void record(Allocation& allocation, const Access& access, const Clock& host);

  /// Whether aclrtFreeHost freed this address and nothing took it since.
  bool was_host_memory(const void* pointer) const {
    return freed_host_.count(reinterpret_cast<std::uintptr_t>(pointer)) != 0;
  }

  const Arena& arena() const { return arena_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t used() const { return used_; }

  /// Reports what is still alive, once each, and changed guard bytes.
  void report_leaks(const Site& site);
  /// A device was reset: its memory is gone, which is a leak.
  void end_device(const Site& site, std::int32_t device);

 private:
  using Table = std::map<std::uintptr_t, std::unique_ptr<Allocation>>;

  void release(Allocation& allocation);
  void release_host(Allocation& allocation);
  void check_guard(const Allocation& allocation, const Site& site) const;

  Arena arena_;
  Table device_;  ///< live and freed, until the record is too old
  Table host_;    ///< live, and freed while the bytes are kept: later the allocator may use the address for anything
  std::deque<Allocation*> kept_host_;  ///< freed, oldest first
  std::size_t kept_host_bytes_ = 0;
  std::deque<std::uintptr_t> freed_device_;
  std::map<std::uintptr_t, std::pair<Site, Site>> freed_host_;  ///< for the message of a double free
  std::size_t capacity_;
  std::size_t used_ = 0;
};

}  // namespace mla_prolog::cann
