// What this machine is: for the report of `info`.
#pragma once

#include <string>
#include <vector>

namespace mla_prolog::tools {

/// The processor's own name, or its architecture.
std::string cpu_name();

/// Processors this process may run on, in order; empty when the system does not say.
std::vector<int> affinity();

/// "0-3,8".
std::string ranges_text(const std::vector<int>& numbers);

/// Bytes of the largest cache, 0 when the system does not say.
std::size_t last_level_cache_bytes();

/// When memory lies in huge pages: "always", "madvise" (where a program asks for them, as this one does for large
/// tensors), "never"; empty when the system does not say.
std::string huge_pages();

}  // namespace mla_prolog::tools
