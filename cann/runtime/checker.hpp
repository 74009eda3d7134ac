// Findings: wrong use of the interface that a device would not, or not clearly, report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace mla_prolog::cann {

/// Where the program called into the library.
struct Site {
  const char* function = "";
  const void* caller = nullptr;
};

enum class Finding {
  missing_init,             ///< a call before aclInit or after aclFinalize
  missing_device,           ///< no device or context is set in the calling thread
  host_pointer_as_device,   ///< a host address where a device address belongs
  device_pointer_as_host,   ///< a device address where a host address belongs
  invalid_device_pointer,   ///< an address in the device's range where nothing is allocated
  out_of_bounds,            ///< a range that exceeds its allocation
  overlapping_copy,         ///< source and destination of a copy overlap
  use_after_free,           ///< freed device memory
  double_free,              ///< memory that is freed already
  free_of_inner_pointer,    ///< a pointer into an allocation, not its start
  free_of_foreign_pointer,  ///< memory that the freeing function's pair did not allocate
  guard_overwritten,        ///< bytes behind an allocation were changed
  null_data,                ///< a tensor with elements has no data address
  tensor_out_of_bounds,     ///< a tensor's extent exceeds its allocation
  workspace_too_small,      ///< less workspace than phase one asked for
  unsynchronized_access,    ///< the host touches what unfinished work of a stream uses
  stream_race,              ///< work of two streams touches the same memory without an event between them
  free_while_in_use,        ///< memory freed that queued work still needs
  destroyed_while_in_use,   ///< a stream destroyed before its work was waited for
  invalid_handle,           ///< a stream, event, context, tensor or executor that does not exist
  executor_reused,          ///< an executor that its only run has used up
  output_overlap,           ///< an output overlaps another tensor of the same call
  bad_strides,              ///< strides that the tensor cannot have
  bad_index,                ///< a cache index, block table or prefix sum that the operator cannot use
  leak,                     ///< something still alive at aclFinalize
};

const char* to_string(Finding kind);

/// Counts, prints and keeps a finding as its level asks, and makes it the calling thread's recent error message.
/// @return whether the call must now fail (levels `error` and `abort`; the latter does not return)
bool report(Finding kind, const Site& site, const std::string& text);

/// What happens at exit, now and without waiting for queued work: with MLA_PROLOG_CHECK_EXIT the report, and the end of
/// the process when there are findings.
void report_now();

/// What lets queued work end before the report at exit; called once the runtime exists.
void drain_before_report(void (*drain)());

/// Guards the findings; for a fork.
std::mutex& journal_mutex();

/// Findings so far.
std::uint64_t finding_count();

/// "program+0x1234 (function)": the code address `caller` in terms of the file it lies in.
std::string describe_code(const void* caller);

/// This thread's recent error message: set by errors, taken away by reading.
void set_error_message(std::string text);
const char* take_error_message();

/// A diagnostic line on stderr that is no finding ("mla_prolog: " goes before it).
void note(const std::string& text);

}  // namespace mla_prolog::cann
