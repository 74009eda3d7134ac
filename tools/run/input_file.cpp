#include "tools/run/input_file.hpp"

#include <cstring>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {
namespace {

template <typename T>
std::vector<std::int64_t> widened(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = value;
  }
  return values;
}

}  // namespace

InputFile::InputFile(const std::string& path) : file_(path) {
  for (const StoredTensor& tensor : file_.tensors()) {
    const auto id = parse<TensorId>(tensor.name);
    if (!id || is_output(*id)) fail(tensor, "is no input of the operator");
    if (tensor.shape.size() > static_cast<std::size_t>(kMaxRank)) fail(tensor, "has too many dimensions");
    tensors_[static_cast<std::size_t>(*id)] = &tensor;
  }
}

std::vector<std::int64_t> InputFile::integers(const StoredTensor& tensor) const {
  if (tensor.type == StorageType::i64) return widened<std::int64_t>(tensor.bytes);
  if (tensor.type == StorageType::i32) return widened<std::int32_t>(tensor.bytes);
  fail(tensor, "is stored as " + std::string(to_string(tensor.type)) + ", must be I64 or I32");
}

void InputFile::fail(const StoredTensor& tensor, const std::string& cause) const {
  throw InputError(path(), "tensor \"" + tensor.name + "\" " + cause);
}

}  // namespace mla_prolog::tools
