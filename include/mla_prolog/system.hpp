// What this build is and what this machine offers.
#pragma once

#include <string>
#include <vector>

#include "mla_prolog/export.hpp"
#include "mla_prolog/status.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog {

/// "MAJOR.MINOR.PATCH" of the linked library.
MLA_PROLOG_API const char* version() noexcept;

/// Whether this build and CPU can run an instruction set; if not, `reason` says why.
struct IsaInfo {
  Isa isa;
  bool available;
  std::string reason;
};
/// All sets, best last; `scalar` is always available.
MLA_PROLOG_API std::vector<IsaInfo> list_isas();

/// Whether this build and machine can use a backend; if not, `reason` says why.
struct BackendInfo {
  Backend backend;
  bool available;
  std::string reason;
};
MLA_PROLOG_API std::vector<BackendInfo> list_backends();

/// A matmul engine beside the native kernels, and what asking it showed: int8 is multiplied with data that saturates
/// what is not exact.
struct MatmulEngineInfo {
  std::string name;   ///< with its version and types, "oneDNN 2.6.3 s8s8s32"
  Numerics numerics;  ///< `strict`: its results are those of the native kernels; `fast`: in another order
  bool available;
  std::string implementation;  ///< the engine's own name of what it chose; empty when it has nothing
  std::string reason;          ///< why it is not available
};
MLA_PROLOG_API std::vector<MatmulEngineInfo> list_matmul_engines();

/// Threads a plan takes by default: the size of the affinity mask, or 1 without OpenMP.
MLA_PROLOG_API int default_threads() noexcept;

}  // namespace mla_prolog
