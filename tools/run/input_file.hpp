// The file of `run --input`: input tensors of the operator by name.
#pragma once

#include <array>
#include <string>

#include "mla_prolog/tensor.hpp"
#include "tools/io/safetensors.hpp"

namespace mla_prolog::tools {

class InputFile {
 public:
  /// Throws InputError, also for a tensor that is no input of the operator.
  explicit InputFile(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  /// Null when the file does not hold it.
  const StoredTensor* find(TensorId id) const noexcept { return tensors_[static_cast<std::size_t>(id)]; }
  /// Integers of an I32 or I64 tensor, widened. Throws InputError for other types.
  std::vector<std::int64_t> integers(const StoredTensor& tensor) const;
  [[noreturn]] void fail(const StoredTensor& tensor, const std::string& cause) const;

 private:
  SafetensorsFile file_;
  std::array<const StoredTensor*, kTensorCount> tensors_{};
};

}  // namespace mla_prolog::tools
