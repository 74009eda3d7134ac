#include "test/support/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace mla_prolog::test {
namespace {

// Wider than most tensors here, so that one placed at another's edge meets nothing else. Costs address space only.
constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

constexpr auto kCanary = std::byte{0xC9};

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

GuardedMemory::Mapping::~Mapping() { munmap(base, bytes); }

GuardedMemory::GuardedMemory(std::size_t bytes, std::size_t alignment, Side side) : size_(bytes) {
  const std::size_t page = page_bytes();
  const std::size_t inner = (bytes + alignment + page - 1) / page * page;
  const std::size_t total = inner + 2 * kGuardBytes;
  void* base = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  mapping_ = std::make_shared<Mapping>(static_cast<std::byte*>(base), total);
  std::byte* first = mapping_->base + kGuardBytes;
  if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::fill_n(first, inner, kCanary);
  data_ = side == Side::begin ? first : first + (inner - bytes) / alignment * alignment;
}

bool GuardedMemory::intact() const {
  if (mapping_ == nullptr) return true;
  const auto is_canary = [](std::byte b) { return b == kCanary; };
  std::byte* first = mapping_->base + kGuardBytes;
  std::byte* last = mapping_->base + mapping_->bytes - kGuardBytes;
  return std::all_of(first, data_, is_canary) && std::all_of(data_ + size_, last, is_canary);
}

void GuardedMemory::set_read_only(bool read_only) const {
  if (mapping_ == nullptr) return;
  const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  if (mprotect(mapping_->base + kGuardBytes, mapping_->bytes - 2 * kGuardBytes, protection) != 0)
    throw std::bad_alloc();
}

GuardedTensor::GuardedTensor(const TensorDesc& desc, GuardedMemory::Side side)
    : desc_(desc), memory_(desc.extent_bytes(), std::max<std::size_t>(element_size(desc.dtype), 1), side) {}

void GuardedTensor::fill(std::byte value) const { std::fill(bytes().begin(), bytes().end(), value); }

}  // namespace mla_prolog::test
