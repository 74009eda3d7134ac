// safetensors files: an 8-byte little-endian header length, a JSON header, then the tensors' bytes without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/io/mapped_file.hpp"

namespace mla_prolog::tools {

enum class StorageType : std::uint8_t {
  f4,
  f6_e2m3,
  f6_e3m2,
  boolean,
  u8,
  i8,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  i64,
  u64,
  f64,
  c64,
};

/// The name in a header ("BF16").
std::string_view to_string(StorageType type) noexcept;
std::size_t element_bits(StorageType type) noexcept;
/// In bytes; 0 for types whose elements share a byte.
std::size_t element_size(StorageType type) noexcept;
/// Throws nothing; false when the name is unknown.
bool parse_storage_type(std::string_view name, StorageType& type) noexcept;

/// Product of dimensions times element size, in the unit of the size; false when it does not fit or a dimension is
/// negative.
bool checked_bytes(std::span<const std::int64_t> shape, std::size_t element_bytes, std::size_t& bytes) noexcept;

/// "[3, 64]".
std::string shape_text(std::span<const std::int64_t> shape);

struct StoredTensor {
  std::string name;
  StorageType type = StorageType::u8;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< not aligned to the element size

  std::size_t elements() const noexcept { return bytes.size() * 8 / element_bits(type); }
};

using Metadata = std::map<std::string, std::string>;

class SafetensorsFile {
 public:
  /// Maps and checks a file. Throws InputError.
  explicit SafetensorsFile(const std::string& path);
  /// Reads from memory that outlives the object; `name` stands for the file in errors.
  SafetensorsFile(std::span<const std::byte> content, const std::string& name);

  const std::string& path() const noexcept { return path_; }
  /// In the header's order.
  const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  /// The texts under `__metadata__`, by key.
  const Metadata& metadata() const noexcept { return metadata_; }
  /// Null when there is none of that name.
  const StoredTensor* find(const std::string& name) const noexcept;

 private:
  void read(std::span<const std::byte> content);

  std::string path_;
  std::unique_ptr<MappedFile> file_;
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

struct TensorToStore {
  std::string name;
  StorageType type = StorageType::u8;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes a file; a regular file of that name is replaced only when all is written. Throws InputError.
void write_safetensors(const std::string& path, std::span<const TensorToStore> tensors, const Metadata& metadata = {});

}  // namespace mla_prolog::tools
