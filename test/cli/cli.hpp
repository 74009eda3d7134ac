// Starts the command line as its users do, and what the tests of it share.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/io/safetensors.hpp"

namespace mla_prolog::test {

struct CliResult {
  int code = -1;  ///< exit code; -1 when a signal ended the process
  std::string out;
  std::string err;

  std::vector<std::string> lines() const;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs `mla-prolog` with these arguments and waits for it.
CliResult cli(const std::vector<std::string>& arguments);

/// A directory of this test case, removed with the object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);

/// Exactly one line on stderr, `ERROR <what>: ...`, with this text in it.
bool is_error_line(const CliResult& result, const std::string& text);

/// Elements of a stored tensor.
template <typename T>
std::vector<T> values(const tools::StoredTensor& tensor) {
  std::vector<T> result(tensor.bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), tensor.bytes.data(), result.size() * sizeof(T));
  return result;
}

/// A tensor to be written, with its own data.
struct OwnedTensor {
  std::string name;
  tools::StorageType type;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

template <typename T>
OwnedTensor tensor(const std::string& name, tools::StorageType type, const std::vector<std::int64_t>& shape,
                   const std::vector<T>& elements) {
  OwnedTensor result{name, type, shape, std::vector<std::byte>(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(result.data.data(), elements.data(), result.data.size());
  return result;
}

void write_tensors(const std::string& path, const std::vector<OwnedTensor>& tensors);

/// bf16 and back by the definition: the upper half of float32, to nearest, ties to even.
std::uint16_t bf16_of(float value);
float of_bf16(std::uint16_t code);

}  // namespace mla_prolog::test
