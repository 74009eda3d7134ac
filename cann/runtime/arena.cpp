#include "cann/runtime/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/system/huge_pages.hpp"

namespace mla_prolog::cann {
namespace {

constexpr std::size_t kWantedSpan = std::size_t{256} << 30;
constexpr std::size_t kSmallestSpan = std::size_t{256} << 20;

void* reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena::Arena() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  for (std::size_t span = kWantedSpan; span >= kSmallestSpan && span_ == 0; span /= 2) {
    void* device = reserve(span);
    void* bytes = device == nullptr ? nullptr : reserve(span);
    if (bytes == nullptr) {
      if (device != nullptr) munmap(device, span);
      continue;
    }
    span_ = span;
    device_base_ = reinterpret_cast<std::uintptr_t>(device);
    shadow_base_ = static_cast<char*>(bytes);
  }
  next_ = device_base_ + page_;
}

Arena::~Arena() {
  if (span_ == 0) return;
  munmap(reinterpret_cast<void*>(device_base_), span_);
  munmap(shadow_base_, span_);
}

std::size_t Arena::footprint(std::size_t bytes) const { return round_up(bytes, page_) + page_; }

std::uintptr_t Arena::find_space(std::size_t need) {
  const std::size_t alignment = need >= 2 * kHugePage ? kHugePage : page_;
  const auto align = [&](std::uintptr_t address) { return device_base_ + round_up(address - device_base_, alignment); };
  const std::uintptr_t fresh = align(next_);
  if (fresh + need <= device_base_ + span_ && fresh + need > fresh) {
    if (fresh > next_) released_[next_] = fresh - next_;
    next_ = fresh + need;
    return fresh;
  }
  for (auto it = released_.begin(); it != released_.end(); ++it) {
    const std::uintptr_t begin = it->first;
    const std::uintptr_t end = begin + it->second;
    const std::uintptr_t address = align(begin);
    if (address + need > end || address + need < address) continue;
    released_.erase(it);
    if (address > begin) released_[begin] = address - begin;
    if (address + need < end) released_[address + need] = end - (address + need);
    return address;
  }
  return 0;
}

std::uintptr_t Arena::allocate(std::size_t bytes) {
  if (span_ == 0 || bytes > span_ / 2) return 0;
  const std::size_t need = footprint(bytes);
  const std::uintptr_t address = find_space(need);
  if (address == 0) return 0;
  const std::size_t committed = need - page_;
  void* memory = shadow(address);
  if (mprotect(memory, committed, PROT_READ | PROT_WRITE) != 0) {
    released_[address] = need;
    return 0;
  }
  advise_huge_pages(memory, committed);
  std::memset(memory, kFreshByte, bytes);
  std::memset(static_cast<char*>(memory) + bytes, kGuardByte, committed - bytes);
  return address;
}

void Arena::release(std::uintptr_t address, std::size_t bytes) {
  std::size_t size = footprint(bytes);
  void* memory = shadow(address);
  madvise(memory, size - page_, MADV_DONTNEED);
  mprotect(memory, size - page_, PROT_NONE);
  auto next = released_.lower_bound(address);
  if (next != released_.end() && next->first == address + size) {
    size += next->second;
    next = released_.erase(next);
  }
  if (next != released_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      previous->second += size;
      return;
    }
  }
  released_[address] = size;
}

bool Arena::guard_intact(std::uintptr_t address, std::size_t bytes) const {
  const auto* memory = static_cast<const unsigned char*>(shadow(address));
  return std::all_of(memory + bytes, memory + (footprint(bytes) - page_),
                     [](unsigned char byte) { return byte == kGuardByte; });
}

}  // namespace mla_prolog::cann
