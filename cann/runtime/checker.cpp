#include "cann/runtime/checker.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <utility>
#include <vector>

#include "cann/runtime/settings.hpp"

namespace mla_prolog::cann {
namespace {

/// Findings beyond this are counted only: a loop must not fill the memory or the terminal.
constexpr std::size_t kKeptFindings = 1000;

struct Journal {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::atomic<std::uint64_t> count{0};
};

/// Never destroyed: stream workers and exit handlers of the program may still report.
Journal& journal() {
  static Journal* const instance = new Journal;
  return *instance;
}

void (*exit_drain)() = nullptr;

thread_local std::string pending_message;
thread_local std::string returned_message;
thread_local bool has_message = false;

void report_and_end() {
  Journal& j = journal();
  const std::uint64_t count = j.count.load();
  if (count == 0) return;
  std::cout.flush();
  std::fflush(nullptr);
  const std::lock_guard lock(j.mutex);
  std::fprintf(stderr, "mla_prolog: check report: %llu finding%s\n", static_cast<unsigned long long>(count),
               count == 1 ? "" : "s");
  for (const std::string& line : j.lines) std::fprintf(stderr, "mla_prolog:   %s\n", line.c_str());
  if (count > j.lines.size()) {
    std::fprintf(stderr, "mla_prolog:   and %llu more\n", static_cast<unsigned long long>(count - j.lines.size()));
  }
  std::fflush(nullptr);
  // An exit handler cannot change the status of a normal exit.
  _exit(*settings().check_exit);
}

void report_at_exit() {
  // Work that was queued may still find something.
  if (exit_drain != nullptr) exit_drain();
  report_and_end();
}

/// Loading the library registers the handler, so it runs after those the program registers.
struct ExitRegistration {
  ExitRegistration() {
    if (settings().check_exit && settings().check != CheckLevel::off) std::atexit(report_at_exit);
  }
};
const ExitRegistration exit_registration;

}  // namespace

const char* to_string(Finding kind) {
  switch (kind) {
    case Finding::missing_init:
      return "missing-init";
    case Finding::missing_device:
      return "missing-device";
    case Finding::host_pointer_as_device:
      return "host-pointer-as-device";
    case Finding::device_pointer_as_host:
      return "device-pointer-as-host";
    case Finding::invalid_device_pointer:
      return "invalid-device-pointer";
    case Finding::out_of_bounds:
      return "out-of-bounds";
    case Finding::overlapping_copy:
      return "overlapping-copy";
    case Finding::use_after_free:
      return "use-after-free";
    case Finding::double_free:
      return "double-free";
    case Finding::free_of_inner_pointer:
      return "free-of-inner-pointer";
    case Finding::free_of_foreign_pointer:
      return "free-of-foreign-pointer";
    case Finding::guard_overwritten:
      return "guard-overwritten";
    case Finding::null_data:
      return "null-data";
    case Finding::tensor_out_of_bounds:
      return "tensor-out-of-bounds";
    case Finding::workspace_too_small:
      return "workspace-too-small";
    case Finding::unsynchronized_access:
      return "unsynchronized-access";
    case Finding::stream_race:
      return "stream-race";
    case Finding::free_while_in_use:
      return "free-while-in-use";
    case Finding::destroyed_while_in_use:
      return "destroyed-while-in-use";
    case Finding::invalid_handle:
      return "invalid-handle";
    case Finding::executor_reused:
      return "executor-reused";
    case Finding::output_overlap:
      return "output-overlap";
    case Finding::bad_strides:
      return "bad-strides";
    case Finding::bad_index:
      return "bad-index";
    case Finding::leak:
      return "leak";
  }
  return "unknown";
}

bool report(Finding kind, const Site& site, const std::string& text) {
  const Settings& s = settings();
  std::string line = std::string("[") + to_string(kind) + "] " + site.function + ": " + text;
  if (site.caller != nullptr) line += "; called from " + describe_code(site.caller);
  set_error_message(line);
  if (s.check == CheckLevel::off) return false;
  Journal& j = journal();
  {
    const std::lock_guard lock(j.mutex);
    const std::uint64_t number = j.count.fetch_add(1);
    if (number < kKeptFindings) {
      std::fprintf(stderr, "mla_prolog: finding %s\n", line.c_str());
      j.lines.push_back(std::move(line));
    }
  }
  if (s.check == CheckLevel::abort) {
    std::fflush(nullptr);
    std::abort();
  }
  return s.check == CheckLevel::error;
}

void drain_before_report(void (*drain)()) { exit_drain = drain; }

void report_now() {
  if (settings().check_exit) report_and_end();
}

std::mutex& journal_mutex() { return journal().mutex; }

std::uint64_t finding_count() { return journal().count.load(); }

std::string describe_code(const void* caller) {
  Dl_info info{};
  if (caller == nullptr || dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return "an unknown place";
  const std::string path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  std::array<char, 32> offset{};
  std::snprintf(offset.data(), offset.size(), "+0x%zx",
                static_cast<std::size_t>(static_cast<const char*>(caller) - static_cast<const char*>(info.dli_fbase)));
  std::string text = (slash == std::string::npos ? path : path.substr(slash + 1)) + offset.data();
  if (info.dli_sname != nullptr) text += std::string(" (") + info.dli_sname + ")";
  return text;
}

void set_error_message(std::string text) {
  pending_message = std::move(text);
  has_message = true;
}

const char* take_error_message() {
  if (!has_message) return nullptr;
  has_message = false;
  returned_message = std::move(pending_message);
  pending_message.clear();
  return returned_message.c_str();
}

void note(const std::string& text) { std::fprintf(stderr, "mla_prolog: %s\n", text.c_str()); }

}  // namespace mla_prolog::cann
