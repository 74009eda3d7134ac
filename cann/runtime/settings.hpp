// What the environment asks of the emulated runtime; read once, at first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mla_prolog/types.hpp"

namespace mla_prolog::cann {

enum class CheckLevel { off, warn, error, abort };

struct Settings {
  CheckLevel check = CheckLevel::warn;  ///< MLA_PROLOG_CHECK
  std::optional<int> check_exit;        ///< MLA_PROLOG_CHECK_EXIT: report at exit, exit status when there are findings
  Soc soc = Soc::ascend910b;            ///< MLA_PROLOG_SOC
  std::string soc_name;                 ///< what aclrtGetSocName returns
  std::string cann_version;             ///< MLA_PROLOG_CANN_VERSION
  int verbose = 0;                      ///< MLA_PROLOG_VERBOSE
  std::size_t device_memory = 0;        ///< MLA_PROLOG_DEVICE_MEMORY, bytes with an optional K, M or G
  std::uint32_t device_count = 0;       ///< MLA_PROLOG_DEVICE_COUNT
  int threads = 0;                      ///< MLA_PROLOG_THREADS; 0: the core library's default
};

const Settings& settings();

/// Profile of the arithmetic that the emulated device has.
Profile device_profile();

}  // namespace mla_prolog::cann
