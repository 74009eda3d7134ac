#include "tools/run/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace mla_prolog::tools {
namespace {

// "32768K" or "8M" as in sysfs.
std::size_t parse_size(const std::string& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  if (end == text.data() + text.size()) return value;
  return value << (*end == 'M' ? 20 : *end == 'G' ? 30 : *end == 'K' ? 10 : 0);
}

}  // namespace

std::string cpu_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && (line.starts_with("model name") || line.starts_with("Model"))) {
      const auto first = line.find_first_not_of(" \t", colon + 1);
      if (first != std::string::npos) return line.substr(first);
    }
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

std::vector<int> affinity() {
  // Machines with more than CPU_SETSIZE processors need a longer mask: double it until the system takes it.
  for (int limit = CPU_SETSIZE; limit <= 1 << 20; limit *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(static_cast<std::size_t>(limit));
    if (mask == nullptr) return {};
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(limit));
    std::vector<int> cpus;
    const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; known && cpu < limit; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask)) cpus.push_back(cpu);
    }
    CPU_FREE(mask);
    if (known) return cpus;
  }
  return {};
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (last > i) text.append("-").append(std::to_string(numbers[last]));
    i = last + 1;
  }
  return text;
}

std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream stream("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::string text;
    if (stream >> text) largest = std::max(largest, parse_size(text));
  }
  return largest;
}

std::string huge_pages() {
  // All modes in one line, the one that holds in brackets.
  std::ifstream stream("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string mode; stream >> mode;) {
    if (mode.starts_with('[') && mode.ends_with(']')) return mode.substr(1, mode.size() - 2);
  }
  return {};
}

}  // namespace mla_prolog::tools
