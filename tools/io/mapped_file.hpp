// A regular file, read-only, in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mla_prolog::tools {

class MappedFile {
 public:
  /// Throws InputError when the path is missing, unreadable, no regular file, or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mla_prolog::tools
