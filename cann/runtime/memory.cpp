#include "cann/runtime/memory.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace mla_prolog::cann {
namespace {

constexpr std::size_t kFreedRecords = 1U << 16;
/// Freed host memory that is kept, so that its use is found and harms nothing.
constexpr std::size_t kKeptHostBytes = std::size_t{64} << 20;
constexpr std::size_t kKeptHostBlocks = 4096;
constexpr std::size_t kHostAlignment = 64;
constexpr std::size_t kHostGuard = 64;
constexpr std::size_t kAccessesBeforePruning = 16;

std::string hex(const void* pointer) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%p", pointer);
  return text.data();
}

const char* kind_name(const Allocation& a) { return a.kind == Allocation::Kind::device ? "device" : "host"; }

std::string origin(const Allocation& a) {
  std::string text = std::to_string(a.bytes) + " bytes of " + kind_name(a) + " memory allocated at " +
                     describe_code(a.allocated.caller);
  if (a.state == Allocation::State::freed) text += " and freed at " + describe_code(a.freed.caller);
  return text;
}

}  // namespace

Memory::~Memory() {
  for (auto& [address, allocation] : host_) std::free(reinterpret_cast<void*>(address));
}

Allocation* Memory::allocate_device(const Site& site, std::size_t bytes, std::int32_t device) {
  if (bytes > capacity_ - used_) return nullptr;
  const std::uintptr_t address = arena_.allocate(bytes);
  if (address == 0) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->allocated = site;
  allocation->device = device;
  allocation->accesses.reserve(2 * kAccessesBeforePruning);
  used_ += bytes;
  // The arena hands out old addresses again only when it must; their records go then.
  device_.erase(device_.lower_bound(address), device_.lower_bound(address + bytes));
  return (device_[address] = std::move(allocation)).get();
}

Allocation* Memory::allocate_host(const Site& site, std::size_t bytes) {
  if (bytes > SIZE_MAX - kHostGuard - kHostAlignment) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, kHostAlignment, bytes + kHostGuard) != 0) return nullptr;
  std::memset(memory, Arena::kFreshByte, bytes);
  std::memset(static_cast<char*>(memory) + bytes, Arena::kGuardByte, kHostGuard);
  auto allocation = std::make_unique<Allocation>();
  allocation->address = reinterpret_cast<std::uintptr_t>(memory);
  allocation->bytes = bytes;
  allocation->kind = Allocation::Kind::host;
  allocation->allocated = site;
  freed_host_.erase(allocation->address);
  return (host_[allocation->address] = std::move(allocation)).get();
}

void Memory::check_guard(const Allocation& a, const Site& site) const {
  bool intact = true;
  if (a.kind == Allocation::Kind::device) {
    intact = arena_.guard_intact(a.address, a.bytes);
  } else {
    const auto* guard = reinterpret_cast<const unsigned char*>(a.address) + a.bytes;
    intact = std::all_of(guard, guard + kHostGuard, [](unsigned char b) { return b == Arena::kGuardByte; });
  }
  if (!intact) report(Finding::guard_overwritten, site, "bytes behind " + origin(a) + " were overwritten");
}

void Memory::free(Allocation& a, const Site& site) {
  check_guard(a, site);
  a.state = Allocation::State::freed;
  a.freed = site;
  if (a.kind == Allocation::Kind::device) used_ -= a.bytes;
  if (a.pins == 0) release(a);
}

void Memory::unpin(Allocation& a) {
  if (--a.pins == 0 && a.state == Allocation::State::freed) release(a);
}

void Memory::release_host(Allocation& a) {
  if (freed_host_.size() < kFreedRecords) freed_host_[a.address] = {a.allocated, a.freed};
  std::free(reinterpret_cast<void*>(a.address));
  host_.erase(a.address);
}

void Memory::release(Allocation& a) {
  a.accesses = {};
  if (a.kind == Allocation::Kind::host) {
    kept_host_.push_back(&a);
    kept_host_bytes_ += a.bytes;
    while (kept_host_bytes_ > kKeptHostBytes || kept_host_.size() > kKeptHostBlocks) {
      Allocation* oldest = kept_host_.front();
      kept_host_.pop_front();
      kept_host_bytes_ -= oldest->bytes;
      release_host(*oldest);
    }
    return;
  }
  arena_.release(a.address, a.bytes);
  freed_device_.push_back(a.address);
  if (freed_device_.size() <= kFreedRecords) return;
  const auto oldest = device_.find(freed_device_.front());
  freed_device_.pop_front();
  if (oldest != device_.end() && oldest->second->state == Allocation::State::freed && oldest->second->pins == 0) {
    device_.erase(oldest);
  }
}

Located Memory::locate(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address == 0) return {};
  const bool on_device = arena_.contains(address);
  const Table& table = on_device ? device_ : host_;
  auto it = table.upper_bound(address);
  Allocation* before = it == table.begin() ? nullptr : std::prev(it)->second.get();
  const std::size_t offset = before == nullptr ? 0 : address - before->address;
  const bool inside = before != nullptr && offset < before->bytes;
  const bool live = before != nullptr && before->state == Allocation::State::live;
  if (!on_device && !inside) return {Place::host, nullptr, 0};
  if (!on_device) return {live ? Place::pinned_host : Place::freed_host, before, offset};
  if (!inside) return {Place::unallocated_device, before, offset};
  return {live ? Place::device : Place::freed_device, before, offset};
}

std::string Memory::describe(const void* pointer, const Located& located) const {
  std::string where = hex(pointer);
  switch (located.place) {
    case Place::null:
      return "a null pointer";
    case Place::host: {
      const auto freed = freed_host_.find(reinterpret_cast<std::uintptr_t>(pointer));
      if (freed == freed_host_.end()) return where + ", host memory that this library did not allocate";
      return where + ", host memory allocated at " + describe_code(freed->second.first.caller) + " and freed at " +
             describe_code(freed->second.second.caller);
    }
    case Place::unallocated_device:
      if (located.allocation == nullptr) return where + ", a device address where nothing is allocated";
      return where + ", " + std::to_string(located.offset - located.allocation->bytes) + " bytes behind the end of " +
             origin(*located.allocation);
    case Place::pinned_host:
    case Place::freed_host:
    case Place::device:
    case Place::freed_device:
      if (located.offset == 0) return where + ", " + origin(*located.allocation);
      return where + ", " + std::to_string(located.offset) + " bytes into " + origin(*located.allocation);
  }
  return where;
}

Range Memory::check_range(const Site& site, const char* argument, const void* pointer, std::size_t bytes,
                          bool want_device) {
  const Located at = locate(pointer);
  Range range;
  range.offset = at.offset;
  const auto found = [&](Finding kind, const std::string& what) {
    if (report(kind, site, std::string(argument) + " " + what + ": " + describe(pointer, at))) range.refuse = true;
  };
  if (at.place == Place::freed_device || at.place == Place::freed_host) {
    found(Finding::use_after_free, "is freed memory");
    return range;
  }
  if (at.place == Place::unallocated_device) {
    found(Finding::invalid_device_pointer, "is not allocated memory");
    return range;
  }
  if (want_device && !at.on_device()) found(Finding::host_pointer_as_device, "must be a device pointer but is not");
  if (!want_device && at.on_device()) found(Finding::device_pointer_as_host, "must be a host pointer but is not");
  range.usable = bytes;
  if (at.allocation != nullptr) {
    range.allocation = at.allocation;
    const std::size_t available = at.allocation->bytes - at.offset;
    if (bytes > available) {
      found(Finding::out_of_bounds,
            "needs " + std::to_string(bytes) + " bytes, there are " + std::to_string(available));
      range.usable = available;
    }
  }
  range.bytes = at.on_device() ? arena_.shadow(reinterpret_cast<std::uintptr_t>(pointer)) : const_cast<void*>(pointer);
  return range;
}

std::optional<Access> Memory::conflict(const Allocation& a, std::size_t begin, std::size_t end, bool write,
                                       const Clock& known) {
  for (const Access& earlier : a.accesses) {
    const bool overlaps = earlier.begin < end && begin < earlier.end;
    if (overlaps && (write || earlier.write) && known.at(earlier.stream) < earlier.number) return earlier;
  }
  return std::nullopt;
}

void Memory::record(Allocation& a, const Access& access, const Clock& host) {
  for (Access& known : a.accesses) {
    // Later work on the same stream is ordered behind the earlier: the newest number says it all.
    if (known.stream == access.stream && known.write == access.write && known.begin == access.begin &&
        known.end == access.end) {
      known.number = access.number;
      return;
    }
  }
  if (a.accesses.size() >= kAccessesBeforePruning) {
    // What the host has waited for is ordered before everything that can still come.
    std::erase_if(a.accesses, [&](const Access& old) { return host.at(old.stream) >= old.number; });
  }
  a.accesses.push_back(access);
}

void Memory::end_device(const Site& site, std::int32_t device) {
  std::vector<Allocation*> gone;
  for (const auto& [address, allocation] : device_) {
    if (allocation->state == Allocation::State::live && allocation->device == device) gone.push_back(allocation.get());
  }
  for (Allocation* allocation : gone) {
    if (!allocation->leak_reported) report(Finding::leak, site, origin(*allocation) + " is still allocated");
    allocation->leak_reported = true;
    free(*allocation, site);
  }
}

void Memory::report_leaks(const Site& site) {
  for (const Table* table : {&device_, &host_}) {
    for (const auto& [address, allocation] : *table) {
      Allocation& a = *allocation;
      if (a.state != Allocation::State::live || a.leak_reported) continue;
      a.leak_reported = true;
      check_guard(a, site);
      report(Finding::leak, site, origin(a) + " is still allocated");
    }
  }
}

}  // namespace mla_prolog::cann
