// Tiles as a trace that Chrome's about:tracing and Perfetto show.
#pragma once

#include <string>
#include <vector>

#include "mla_prolog/explain.hpp"

namespace mla_prolog::tools {

/// One slice for each tile, one track for each thread. Throws InputError when the file cannot be written.
void write_trace(const std::string& path, const Explanation& explanation, const std::vector<TileTimes>& tiles);

}  // namespace mla_prolog::tools
