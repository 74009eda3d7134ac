// Phase-one cases: a JSON file of calls with the status and workspace that CANN gives each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mla_prolog/problem.hpp"

namespace mla_prolog::tools {

struct ValidationCase {
  std::string id;
  Soc soc = Soc::automatic;
  Problem problem;  ///< a null pointer is an absent tensor; a null cache_mode is the operator's default
  std::optional<std::int64_t> expected_status;
  std::optional<std::uint64_t> expected_workspace;
};

/// Reads the cases of a JSON text. Tensors and attributes that a case leaves out are null and the default; unknown
/// names, dtypes and formats, and values of the wrong type are errors. Throws InputError, with `file` as the name.
std::vector<ValidationCase> parse_validation_cases(std::string_view json, const std::string& file = "cases");

/// The same from a file.
std::vector<ValidationCase> read_validation_cases(const std::filesystem::path& path);

}  // namespace mla_prolog::tools
