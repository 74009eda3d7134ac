// Golden cases for tests of the C interface: reads a case, generates its inputs. Trusts its files; the command line has
// a reader that does not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mla_prolog/problem.hpp"

namespace mla_prolog::test {

struct GoldenTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

struct Golden {
  std::string name;
  std::string profile;  ///< "a2" or "950"
  Attributes attributes;
  std::map<TensorId, GoldenTensor> inputs;    ///< weights as logical (K, N); caches before the call
  std::map<TensorId, GoldenTensor> expected;  ///< outputs, and caches after the call
};

Golden read_golden(const std::filesystem::path& json);

/// Data type that a tensor of a case has.
DType golden_dtype(const Golden& golden, TensorId id);

}  // namespace mla_prolog::test
