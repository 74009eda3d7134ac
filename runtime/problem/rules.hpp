// Phase one as a table of rules, to be read next to validation.md.
//
// `check` runs the stages of `kStages` (check.cpp) in order; the first stage with a violation decides the status. What
// a stage looks at stands in one table:
//
// clang-format off
//   validation.md 1, steps 1-3, 5, 6   modes, presence of two outputs          -1      call_rules.cpp    mode_rules
//   1, V1/V2                           no such operator on Ascend 950          361001  call_rules.cpp    soc_rules
//   1, step 7                          required tensors are null               161001  columns.cpp       null_tensor
//   1, step 8 and 3                    dtypes and formats fit one column       161002  columns.cpp       no_column
//   1, step 9                          every output is empty: accepted         0       columns.cpp       nothing_to_do
//   4.3                                attribute ranges                        561002  call_rules.cpp    attribute_rules
//   4.4                                each tensor's dtype, format and rank    561002  single_tensor.cpp
//   4.5                                cache mode                              561002  call_rules.cpp    cache_mode_rules
//   4.6                                sizes (no rule)                                 dims.cpp
//   4.7                                scenario                                561002  call_rules.cpp    scenario_rules
//   4.8                                repository and query modes              561002  call_rules.cpp    coupled_mode_rules
//   4.9                                sizes                                   561002  call_rules.cpp    size_rules
//   4.10                               kr_cache and block table                561002  call_rules.cpp    special_rules
//   4.11                               every tensor as the scenario has it     561002  tensor_table.cpp  expectation.cpp
// clang-format on
//
// 4.1, 4.2 and 4.12 have nothing to refuse here: devices have one cube core for two vector cores, and attributes are
// always given. Steps 4 (placeholders for null outputs) and the null pointers of step 7 that are no tensors are found
// where they matter: columns.cpp, and the C functions.
//
// The relaxed domain (contract.md 4) is the same stages with other rows: a rule's `Scope` says where it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mla_prolog/problem.hpp"
#include "runtime/problem/dims.hpp"
#include "runtime/problem/scenario.hpp"

namespace mla_prolog::phase_one {

/// Whose rules apply: a device generation's (arch22: Atlas A2 and A3; arch35: Ascend 950), or the library's own.
enum class World : std::uint8_t { arch22, arch35, relaxed };

/// One call and what follows from its descriptions.
struct Call {
  const Problem& problem;
  ApiVersion api;
  World world;
  std::int64_t weight_mode;  ///< V3: the attribute; V1 and V2: what the dtypes say
  std::int64_t kv_mode;
  const Scenario* scenario;             ///< null while the modes are not known to be good
  std::optional<CacheMode> cache_mode;  ///< empty for an unknown name
  Dims dims;

  const Attributes& attributes() const noexcept { return problem.attributes; }
  bool v3() const noexcept { return api == ApiVersion::v3; }
  bool relaxed() const noexcept { return world == World::relaxed; }
};

Call make_call(const Problem& problem, const CheckOptions& options) noexcept;

/// A set of API versions and a set of worlds.
struct Scope {
  std::uint8_t apis;
  std::uint8_t worlds;

  constexpr bool covers(const Call& call) const noexcept {
    return ((apis >> static_cast<int>(call.api)) & 1) != 0 && ((worlds >> static_cast<int>(call.world)) & 1) != 0;
  }
};

inline constexpr std::uint8_t kV3 = 0b100;
inline constexpr std::uint8_t kV1V2 = 0b011;
inline constexpr std::uint8_t kAnyApi = 0b111;
inline constexpr std::uint8_t kArch22 = 0b001;
inline constexpr std::uint8_t kArch35 = 0b010;
inline constexpr std::uint8_t kStrict = 0b011;
inline constexpr std::uint8_t kRelaxed = 0b100;
inline constexpr std::uint8_t kAnyWorld = 0b111;

/// A refusal: which tensor (none for an attribute), and a text naming parameter, value and rule.
struct Violation {
  TensorId tensor = TensorId::none;
  std::string text;
};
using Finding = std::optional<Violation>;

/// One rule about one parameter.
struct CallRule {
  const char* section;  ///< of validation.md, or of contract.md where it says so
  Scope scope;
  const char* parameter;              ///< its name in the message; null: the tensor's own
  TensorId tensor;                    ///< the tensor at fault, or none
  std::string (*value)(const Call&);  ///< what the message shows; null: the tensor's description
  bool (*holds)(const Call&);
  const char* requirement;  ///< continues "<parameter> is <value>, must be "
};

/// The first rule in scope that does not hold.
Finding first_violation(std::span<const CallRule> rules, const Call& call);

std::span<const CallRule> soc_rules() noexcept;
std::span<const CallRule> mode_rules() noexcept;
std::span<const CallRule> attribute_rules() noexcept;
std::span<const CallRule> cache_mode_rules() noexcept;
std::span<const CallRule> scenario_rules() noexcept;
std::span<const CallRule> coupled_mode_rules() noexcept;
std::span<const CallRule> size_rules() noexcept;
std::span<const CallRule> special_rules() noexcept;

Finding null_tensor(const Call& call);
Finding no_column(const Call& call);
/// Every output and cache is null or has zero elements.
bool has_nothing_to_do(const Call& call) noexcept;
/// Not a refusal: ends the checks with success.
Finding nothing_to_do(const Call& call);
Finding single_tensor_violation(const Call& call);
Finding unrepresentable_tensor(const Call& call);
Finding table_violation(const Call& call);

/// "BF16 or INT8", "1, 3 or 4".
template <typename Range, typename Name>
std::string one_of(const Range& values, Name name) {
  std::string text;
  std::size_t left = std::size(values);
  for (const auto& value : values) {
    text += name(value);
    --left;
    if (left > 1) text += ", ";
    if (left == 1) text += " or ";
  }
  return text;
}

}  // namespace mla_prolog::phase_one
