// Command lines of `run` on a small layer, and its tensors as numbers.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "test/cli/cli.hpp"

namespace mla_prolog::test {

// A small layer: He 64, Hcq 128, N 2, D 32.
inline std::vector<std::string> small_run(std::vector<std::string> more) {
  std::vector<std::string> arguments{"run", "--he",       "64", "--hcq",    "128", "--heads",
                                     "2",   "--nope-dim", "32", "--repeat", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The same without dimensions, which a file gives.
inline std::vector<std::string> given_run(std::vector<std::string> more) {
  std::vector<std::string> arguments{"run", "--repeat", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline bool close(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

inline std::vector<float> floats_of(const tools::StoredTensor& tensor) {
  std::vector<float> result;
  for (const std::uint16_t code : values<std::uint16_t>(tensor)) result.push_back(of_bf16(code));
  return result;
}

}  // namespace mla_prolog::test
