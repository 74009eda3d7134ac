// What every report says of the machine and the build: no path, no host.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mla_prolog::bench {

// cpu, date, threads and versions of what was measured.
nlohmann::ordered_json report_header(const std::string& program);

}  // namespace mla_prolog::bench
