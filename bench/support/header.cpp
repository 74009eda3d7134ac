#include "bench/support/header.hpp"

#include <ctime>

#include "mla_prolog/system.hpp"
#include "tools/run/machine.hpp"

namespace mla_prolog::bench {
namespace {

std::string today() {
  char text[16] = {};
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

nlohmann::ordered_json report_header(const std::string& program) {
  nlohmann::ordered_json header;
  header["program"] = program;
  header["cpu"] = tools::cpu_name();
  header["date"] = today();
  header["threads"] = default_threads();
  header["huge_pages"] = tools::huge_pages();
  header["last_level_cache_bytes"] = tools::last_level_cache_bytes();
  header["versions"] = {{"mla_prolog", version()}, {"compiler", compiler()}};
  return header;
}

}  // namespace mla_prolog::bench
