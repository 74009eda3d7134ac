#include "tools/io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "tools/io/error.hpp"
#include "tools/io/json.hpp"

namespace mla_prolog::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are used as they stand in the file");

constexpr std::size_t kLengthBytes = 8;
// The format's own limit; a longer header is a file of another kind.
constexpr std::uint64_t kMaxHeader = 100'000'000;

struct TypeRow {
  StorageType type;
  std::string_view name;
  std::size_t bits;
};
// All that the format has: a tensor that nobody uses must not make its file unreadable.
constexpr std::array kTypes{
    TypeRow{StorageType::f4, "F4", 4},
    TypeRow{StorageType::f6_e2m3, "F6_E2M3", 6},
    TypeRow{StorageType::f6_e3m2, "F6_E3M2", 6},
    TypeRow{StorageType::boolean, "BOOL", 8},
    TypeRow{StorageType::u8, "U8", 8},
    TypeRow{StorageType::i8, "I8", 8},
    TypeRow{StorageType::f8_e4m3, "F8_E4M3", 8},
    TypeRow{StorageType::f8_e5m2, "F8_E5M2", 8},
    TypeRow{StorageType::f8_e8m0, "F8_E8M0", 8},
    TypeRow{StorageType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    TypeRow{StorageType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    TypeRow{StorageType::i16, "I16", 16},
    TypeRow{StorageType::u16, "U16", 16},
    TypeRow{StorageType::f16, "F16", 16},
    TypeRow{StorageType::bf16, "BF16", 16},
    TypeRow{StorageType::i32, "I32", 32},
    TypeRow{StorageType::u32, "U32", 32},
    TypeRow{StorageType::f32, "F32", 32},
    TypeRow{StorageType::i64, "I64", 64},
    TypeRow{StorageType::u64, "U64", 64},
    TypeRow{StorageType::f64, "F64", 64},
    TypeRow{StorageType::c64, "C64", 64},
};

const TypeRow& row(StorageType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

std::uint64_t little_endian_word(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

StoredTensor read_entry(const JsonNode& entry, const std::string& name, std::span<const std::byte> data) {
  StoredTensor tensor;
  tensor.name = name;
  const std::string& type_name = entry["dtype"].text();
  if (!parse_storage_type(type_name, tensor.type)) entry["dtype"].fail("unknown dtype \"" + type_name + "\"");
  tensor.shape = entry["shape"].integers(0);
  std::size_t bits = 0;
  if (!checked_bytes(tensor.shape, element_bits(tensor.type), bits)) {
    entry["shape"].fail("size of " + shape_text(tensor.shape) + " overflows");
  }
  if (bits % 8 != 0) {
    entry["shape"].fail(type_name + " " + shape_text(tensor.shape) + " does not end with a whole byte");
  }
  const std::size_t bytes = bits / 8;
  const JsonNode offsets = entry["data_offsets"];
  const std::vector<std::int64_t> range = offsets.integers(0);
  if (range.size() != 2) offsets.fail("must hold two numbers, holds " + std::to_string(range.size()));
  const auto begin = static_cast<std::uint64_t>(range[0]);
  const auto end = static_cast<std::uint64_t>(range[1]);
  if (begin > end) offsets.fail("begin " + std::to_string(begin) + " is after end " + std::to_string(end));
  if (end > data.size()) {
    offsets.fail("end " + std::to_string(end) + " lies beyond the file's " + std::to_string(data.size()) +
                 " data bytes (truncated file?)");
  }
  if (end - begin != bytes) {
    offsets.fail("covers " + std::to_string(end - begin) + " bytes, " + type_name + " " + shape_text(tensor.shape) +
                 " needs " + std::to_string(bytes));
  }
  tensor.bytes = data.subspan(begin, bytes);
  return tensor;
}

// Every data byte belongs to exactly one tensor.
void check_layout(const std::vector<StoredTensor>& tensors, std::span<const std::byte> data, const std::string& path) {
  std::vector<const StoredTensor*> by_offset;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, [](const StoredTensor* tensor) { return tensor->bytes.data(); });
  const std::byte* expected = data.data();
  for (const StoredTensor* tensor : by_offset) {
    if (tensor->bytes.data() != expected) {
      throw InputError(path, "data of tensor \"" + tensor->name + "\" " +
                                 (tensor->bytes.data() < expected ? "overlaps another tensor's"
                                                                  : "leaves a gap after the tensor before it"));
    }
    expected += tensor->bytes.size();
  }
  const auto rest = static_cast<std::size_t>(data.data() + data.size() - expected);
  if (rest != 0) throw InputError(path, std::to_string(rest) + " bytes follow the last tensor");
}

std::string header_text(std::span<const TensorToStore> tensors, const Metadata& metadata) {
  // Written by hand to keep the order of the tensors.
  std::string text = "{";
  if (!metadata.empty()) text += R"("__metadata__":)" + nlohmann::json(metadata).dump();
  std::size_t offset = 0;
  for (const TensorToStore& tensor : tensors) {
    if (text.size() > 1) text += ',';
    text += nlohmann::json(tensor.name).dump();
    text += R"(:{"dtype":")" + std::string(to_string(tensor.type)) + R"(","shape":)";
    text += nlohmann::json(tensor.shape).dump();
    text += R"(,"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(offset + tensor.bytes.size()) + "]}";
    offset += tensor.bytes.size();
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

void write_content(const std::string& path, std::span<const TensorToStore> tensors, const Metadata& metadata,
                   const std::string& shown) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream) throw InputError(shown, "cannot write: " + std::generic_category().message(errno));
  const std::string header = header_text(tensors, metadata);
  std::array<char, kLengthBytes> length{};
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xFF);
  }
  stream.write(length.data(), kLengthBytes);
  stream.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const TensorToStore& tensor : tensors) {
    if (tensor.bytes.empty()) continue;
    stream.write(reinterpret_cast<const char*>(tensor.bytes.data()), static_cast<std::streamsize>(tensor.bytes.size()));
  }
  stream.close();
  if (!stream) throw InputError(shown, "cannot write: " + std::generic_category().message(errno));
}

}  // namespace

std::string_view to_string(StorageType type) noexcept { return row(type).name; }
std::size_t element_bits(StorageType type) noexcept { return row(type).bits; }
std::size_t element_size(StorageType type) noexcept { return row(type).bits / 8; }

bool parse_storage_type(std::string_view name, StorageType& type) noexcept {
  for (const TypeRow& candidate : kTypes) {
    if (candidate.name == name) {
      type = candidate.type;
      return true;
    }
  }
  return false;
}

bool checked_bytes(std::span<const std::int64_t> shape, std::size_t element_bytes, std::size_t& bytes) noexcept {
  // PTRDIFF_MAX, not SIZE_MAX: nothing larger can be one object.
  constexpr auto kLimit = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (std::ranges::any_of(shape, [](std::int64_t dim) { return dim < 0; })) return false;
  bytes = 0;
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::size_t product = element_bytes;
  for (const std::int64_t dim : shape) {
    if (static_cast<std::uint64_t>(dim) > kLimit / product) return false;
    product *= static_cast<std::size_t>(dim);
  }
  bytes = product;
  return true;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(std::make_unique<MappedFile>(path)) {
  read(file_->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> content, const std::string& name) : path_(name) {
  read(content);
}

void SafetensorsFile::read(std::span<const std::byte> content) {
  if (content.size() < kLengthBytes) {
    throw InputError(path_, "truncated: " + std::to_string(content.size()) + " bytes, the header length alone has 8");
  }
  const std::uint64_t length = little_endian_word(content);
  if (length > kMaxHeader) {
    throw InputError(path_, "header length " + std::to_string(length) + " exceeds the format's limit of " +
                                std::to_string(kMaxHeader) + " (no safetensors file?)");
  }
  if (length > content.size() - kLengthBytes) {
    throw InputError(path_, "truncated: header length " + std::to_string(length) + ", but only " +
                                std::to_string(content.size() - kLengthBytes) + " bytes follow");
  }
  const auto data = content.subspan(kLengthBytes + length);
  const std::string_view header(reinterpret_cast<const char*>(content.data()) + kLengthBytes, length);
  std::vector<std::string> names;
  const nlohmann::json document = parse_json(header, path_, &names);
  if (!document.is_object()) throw InputError(path_, "header is no JSON object");
  const JsonNode root(document, path_);
  for (const std::string& name : names) {
    const JsonNode entry = root[name];
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.members()) metadata_.emplace(key, value.text());
      continue;
    }
    by_name_.emplace(name, tensors_.size());
    tensors_.push_back(read_entry(entry, name, data));
  }
  check_layout(tensors_, data, path_);
}

const StoredTensor* SafetensorsFile::find(const std::string& name) const noexcept {
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? nullptr : &tensors_[entry->second];
}

void write_safetensors(const std::string& path, std::span<const TensorToStore> tensors, const Metadata& metadata) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw InputError(path, "is a directory, not a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe or device: nothing to replace
    write_content(path, tensors, metadata, path);
    return;
  }
  // Through a link to its target, so that the link survives.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  const std::string temporary = target.string() + ".part";
  try {
    write_content(temporary, tensors, metadata, path);
    fs::rename(temporary, target, error);
    if (error) throw InputError(path, "cannot write: " + error.message());
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

}  // namespace mla_prolog::tools
