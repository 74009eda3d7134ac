// The options that say what to compute; `run` and `compare` have them in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "tools/run/request.hpp"

namespace mla_prolog::tools {

inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

void add_problem_options(CLI::App& app, RunRequest& request);

}  // namespace mla_prolog::tools
