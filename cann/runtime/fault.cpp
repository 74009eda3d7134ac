#include "cann/runtime/fault.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX, not C++

#include <cstdint>
#include <string>

#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

/// The program is lost at this point: what a handler may not call is worth the risk for the message. The lock is only
/// tried, since the faulting thread may hold it.
void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  Runtime& runtime = Runtime::instance();
  const std::unique_lock<std::mutex> lock(runtime.mutex, std::try_to_lock);
  if (!lock.owns_lock() || !runtime.memory.arena().contains(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
  report(
      Finding::device_pointer_as_host, {"host code", nullptr},
      "dereferences a device address: " + runtime.memory.describe(info->si_addr, runtime.memory.locate(info->si_addr)));
  report_now();
  // Returning repeats the access, which now ends the program with SIGSEGV.
}

}  // namespace

void watch_for_faults() {
  if (settings().check == CheckLevel::off) return;
  struct sigaction current {};
  if (sigaction(SIGSEGV, nullptr, &current) != 0 || (current.sa_flags & SA_SIGINFO) != 0 ||
      current.sa_handler != SIG_DFL) {
    return;
  }
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace mla_prolog::cann
