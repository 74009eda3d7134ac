#include "cann/runtime/settings.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace mla_prolog::cann {
namespace {

constexpr const char* kDefaultCannVersion = "8.5.0";
constexpr std::size_t kDefaultDeviceMemory = std::size_t{64} << 30;
constexpr std::uint32_t kDefaultDeviceCount = 8;

/// Memory of the emulated device is the machine's: promising more than there is would end the process, not the call.
std::size_t default_device_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    if (name == "MemAvailable:") return std::min(kDefaultDeviceMemory, kilobytes / 4 * 3 << 10);
    file.ignore(256, '\n');
  }
  return kDefaultDeviceMemory;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

void complain(const char* name, std::string_view value, const char* accepted) {
  std::fprintf(stderr, "mla_prolog: warning: %s=%.*s is not understood (%s); using the default\n", name,
               static_cast<int>(value.size()), value.data(), accepted);
}

/// A non-negative number with an optional K, M or G; empty when it is not one.
std::optional<std::size_t> parse_size(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const unsigned long long number = std::strtoull(copy.c_str(), &end, 10);
  if (copy.empty() || copy[0] == '-' || end == copy.c_str()) return std::nullopt;
  const std::string_view unit(end);
  if (unit.empty()) return static_cast<std::size_t>(number);
  if (unit == "K" || unit == "k") return static_cast<std::size_t>(number) << 10;
  if (unit == "M" || unit == "m") return static_cast<std::size_t>(number) << 20;
  if (unit == "G" || unit == "g") return static_cast<std::size_t>(number) << 30;
  return std::nullopt;
}

std::optional<std::size_t> size_variable(const char* name) {
  const std::string_view text = variable(name);
  if (text.empty()) return std::nullopt;
  const auto value = parse_size(text);
  if (!value) complain(name, text, "a number");
  return value;
}

CheckLevel read_check_level() {
  const std::string_view text = variable("MLA_PROLOG_CHECK");
  if (text == "off") return CheckLevel::off;
  if (text == "error") return CheckLevel::error;
  if (text == "abort") return CheckLevel::abort;
  if (!text.empty() && text != "warn") complain("MLA_PROLOG_CHECK", text, "off, warn, error or abort");
  return CheckLevel::warn;
}

/// Longer names, such as a full SoC name of a device, select the generation they begin with.
void read_soc(Settings& s) {
  const std::string_view text = variable("MLA_PROLOG_SOC");
  s.soc = Soc::ascend910b;
  s.soc_name = "Ascend910B3";
  if (text.empty() || text == "Ascend910B") return;
  if (text.starts_with("Ascend910B")) {
    s.soc_name = text;
  } else if (text.starts_with("Ascend910_93")) {
    s.soc = Soc::ascend910_93;
    s.soc_name = text == "Ascend910_93" ? "Ascend910_9391" : text;
  } else if (text.starts_with("Ascend950")) {
    s.soc = Soc::ascend950;
    s.soc_name = text == "Ascend950" ? "Ascend950PR_9599" : text;
  } else {
    complain("MLA_PROLOG_SOC", text, "Ascend910B, Ascend910_93 or Ascend950");
  }
}

Settings read_settings() {
  Settings s;
  s.check = read_check_level();
  if (const auto status = size_variable("MLA_PROLOG_CHECK_EXIT")) {
    // The system keeps eight bits of an exit status: 256 would be success.
    if (*status <= 255) {
      s.check_exit = static_cast<int>(*status);
    } else {
      complain("MLA_PROLOG_CHECK_EXIT", variable("MLA_PROLOG_CHECK_EXIT"), "a number up to 255");
    }
  }
  read_soc(s);
  const std::string_view version = variable("MLA_PROLOG_CANN_VERSION");
  s.cann_version = version.empty() ? std::string(kDefaultCannVersion) : std::string(version);
  s.verbose = static_cast<int>(size_variable("MLA_PROLOG_VERBOSE").value_or(0));
  s.device_memory = size_variable("MLA_PROLOG_DEVICE_MEMORY").value_or(default_device_memory());
  s.device_count = static_cast<std::uint32_t>(size_variable("MLA_PROLOG_DEVICE_COUNT").value_or(kDefaultDeviceCount));
  s.threads = static_cast<int>(size_variable("MLA_PROLOG_THREADS").value_or(0));
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings instance = read_settings();
  return instance;
}

Profile device_profile() { return settings().soc == Soc::ascend950 ? Profile::ascend950 : Profile::a2; }

}  // namespace mla_prolog::cann
