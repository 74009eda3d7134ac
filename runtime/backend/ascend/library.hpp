// The CANN libraries of this machine, loaded by name: nothing of CANN is needed to build.
//
// The prototypes are our own; C's calling convention makes opaque pointers and enumerations interchangeable with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mla_prolog::ascend {

struct Library {
  // clang-format off
  int (*init)(const char*) = nullptr;
  const char* (*recent_error)() = nullptr;
  int (*get_device)(std::int32_t*) = nullptr;
  int (*set_device)(std::int32_t) = nullptr;
  int (*reset_device)(std::int32_t) = nullptr;
  const char* (*soc_name)() = nullptr;
  int (*create_stream)(void**) = nullptr;
  int (*destroy_stream)(void*) = nullptr;
  int (*synchronize_stream)(void*) = nullptr;
  int (*malloc)(void**, std::size_t, int) = nullptr;
  int (*free)(void*) = nullptr;
  int (*memcpy)(void*, std::size_t, const void*, std::size_t, int) = nullptr;
  int (*version_text)(char*, char*) = nullptr;   ///< newer CANN only
  int (*cann_version)(int, void*) = nullptr;     ///< older CANN only
  void* (*create_tensor)(const std::int64_t*, std::uint64_t, int, const std::int64_t*, std::int64_t, int,
                         const std::int64_t*, std::uint64_t, void*) = nullptr;
  int (*destroy_tensor)(const void*) = nullptr;
  int (*destroy_executor)(void*) = nullptr;
  void* phase_one = nullptr;  ///< see `legacy_interface`
  int (*phase_two)(void*, std::uint64_t, void*, void*) = nullptr;
  // clang-format on

  /// CANN before 8.5.0.alpha003: phase one has one more parameter.
  bool legacy_interface = false;
  std::string version;
  bool emulated = false;
};

struct Loaded {
  std::shared_ptr<const Library> library;  ///< null when there is none
  std::string reason;                      ///< then: why
};

/// Loads from `<home>/lib64`. The libraries that this project builds are no device: they are refused unless allowed.
Loaded load_library(const std::string& home, bool allow_emulated);

/// The machine's, loaded once: from ASCEND_HOME_PATH, or where CANN is installed by default.
/// MLA_PROLOG_ASCEND_ALLOW_EMULATED=1 in the environment lets this project's own libraries stand in.
const Loaded& installed_library();

/// Whether a CANN version has the interface before 8.5.0.alpha003. Empty text: unknown.
bool has_legacy_interface(const std::string& version);

}  // namespace mla_prolog::ascend
