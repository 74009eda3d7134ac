#include "cann/meta/buffer_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace mla_prolog::cann {
namespace {

constexpr std::size_t kKept = 8;

struct Block {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

struct Shelf {
  /// Buffers are given back where nothing may throw.
  Shelf() { blocks.reserve(kKept + 1); }

  std::mutex mutex;
  std::vector<Block> blocks;
};

/// Never destroyed: workers may return buffers after main.
Shelf& shelf() {
  static Shelf* const instance = new Shelf;
  return *instance;
}

}  // namespace

std::mutex& buffer_mutex() { return shelf().mutex; }

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  {
    Shelf& s = shelf();
    const std::lock_guard lock(s.mutex);
    auto best = s.blocks.end();
    for (auto it = s.blocks.begin(); it != s.blocks.end(); ++it) {
      if (it->capacity >= bytes && (best == s.blocks.end() || it->capacity < best->capacity)) best = it;
    }
    if (best != s.blocks.end()) {
      data_ = best->data;
      capacity_ = best->capacity;
      s.blocks.erase(best);
      return;
    }
  }
  data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}));
  capacity_ = bytes;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  Block surplus{data_, capacity_};
  {
    Shelf& s = shelf();
    const std::lock_guard lock(s.mutex);
    s.blocks.push_back(surplus);
    if (s.blocks.size() <= kKept) return;
    const auto smallest = std::min_element(s.blocks.begin(), s.blocks.end(),
                                           [](const Block& a, const Block& b) { return a.capacity < b.capacity; });
    surplus = *smallest;
    s.blocks.erase(smallest);
  }
  ::operator delete (surplus.data, std::align_val_t{kAlignment});
}

}  // namespace mla_prolog::cann
