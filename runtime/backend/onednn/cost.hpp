// What oneDNN's matmuls cost beside the native kernels, as bench_engines measured it (docs/engines.md).
#pragma once

#include <optional>
#include <string>

#include "runtime/backend/onednn/matmul.hpp"

namespace mla_prolog::onednn {

// oneDNN's time over the native time for blocks of so many tokens; empty for an implementation that was not measured.
std::optional<double> time_ratio(Type type, const std::string& implementation, std::int64_t tokens);

// Whether any measured implementation of this type beats the native kernels at this height: if not, a plan need not ask
// oneDNN at all.
bool may_be_faster(Type type, std::int64_t tokens);

// Differences below this are the machine's drift.
inline constexpr double kFaster = 0.95;

}  // namespace mla_prolog::onednn
