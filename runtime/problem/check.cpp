// Phase one: the stages in the documented order (validation.md 1 and 4).
#include <array>

#include "mla_prolog/problem.hpp"
#include "runtime/problem/rules.hpp"
#include "runtime/problem/workspace.hpp"

namespace mla_prolog {
namespace phase_one {
namespace {

template <std::span<const CallRule> (*Rules)() noexcept>
Finding rows(const Call& call) {
  return first_violation(Rules(), call);
}

struct Stage {
  const char* section;
  Scope scope;
  StatusCode code;  ///< of a call that the stage finds something in
  Finding (*find)(const Call&);
};

constexpr Scope kEverywhere{kAnyApi, kAnyWorld};

constexpr std::array kStages{
    Stage{"1, V1 and V2", kEverywhere, StatusCode::runtime_error, rows<soc_rules>},
    Stage{"1, steps 1 to 6", kEverywhere, StatusCode::mode_refused, rows<mode_rules>},
    Stage{"1, step 7", kEverywhere, StatusCode::param_nullptr, null_tensor},
    Stage{"1, step 8", kEverywhere, StatusCode::param_invalid, no_column},
    Stage{"1, step 9", {kAnyApi, kStrict}, StatusCode::success, nothing_to_do},
    Stage{"4.3", kEverywhere, StatusCode::tiling_error, rows<attribute_rules>},
    Stage{"4.4", kEverywhere, StatusCode::tiling_error, single_tensor_violation},
    Stage{"4.5", kEverywhere, StatusCode::tiling_error, rows<cache_mode_rules>},
    Stage{"contract.md 4", {kAnyApi, kRelaxed}, StatusCode::tiling_error, unrepresentable_tensor},
    Stage{"4.7", kEverywhere, StatusCode::tiling_error, rows<scenario_rules>},
    Stage{"4.8", kEverywhere, StatusCode::tiling_error, rows<coupled_mode_rules>},
    Stage{"4.9", kEverywhere, StatusCode::tiling_error, rows<size_rules>},
    Stage{"4.10", kEverywhere, StatusCode::tiling_error, rows<special_rules>},
    Stage{"4.11", kEverywhere, StatusCode::tiling_error, table_violation},
};

// V1 and V2 have no mode attributes (validation.md 2).
std::int64_t weight_mode_of(const Problem& problem) noexcept {
  if (problem.token_x.dtype == DType::int8) return 2;
  return problem.token_x.dtype == DType::bf16 && problem.weight_uq_qr.dtype == DType::int8 ? 1 : 0;
}
std::int64_t kv_mode_of(const Problem& problem, std::int64_t weight_mode) noexcept {
  if (weight_mode == 0 || problem.kv_cache.dtype != DType::int8) return 0;
  return weight_mode == 2 ? 1 : 2;
}

World world_of(const Problem& problem, const CheckOptions& options) noexcept {
  if (options.domain == Domain::relaxed) return World::relaxed;
  if (options.soc != Soc::automatic) return options.soc == Soc::ascend950 ? World::arch35 : World::arch22;
  const std::int64_t weight_mode = problem.attributes.weight_quant_mode;
  const bool needs_950 = options.api == ApiVersion::v3 && weight_mode >= 3 && weight_mode <= 5;
  return needs_950 ? World::arch35 : World::arch22;
}

}  // namespace

Call make_call(const Problem& problem, const CheckOptions& options) noexcept {
  const bool v3 = options.api == ApiVersion::v3;
  const std::int64_t weight_mode = v3 ? problem.attributes.weight_quant_mode : weight_mode_of(problem);
  const std::int64_t kv_mode = v3 ? problem.attributes.kv_cache_quant_mode : kv_mode_of(problem, weight_mode);
  const auto cache_mode = parse<CacheMode>(problem.attributes.cache_mode);
  const World world = world_of(problem, options);
  // The library counts in 64 bits; a device wraps round.
  const SizeWidth width = world == World::relaxed ? SizeWidth::bits64 : SizeWidth::bits32;
  return {.problem = problem,
          .api = options.api,
          .world = world,
          .weight_mode = weight_mode,
          .kv_mode = kv_mode,
          .scenario = find_scenario(weight_mode, kv_mode),
          .cache_mode = cache_mode,
          .dims = derive_dims(problem, cache_mode, width)};
}

Finding first_violation(std::span<const CallRule> rules, const Call& call) {
  for (const CallRule& rule : rules) {
    if (!rule.scope.covers(call) || rule.holds(call)) continue;
    std::string text(rule.parameter != nullptr ? rule.parameter : to_string(rule.tensor));
    if (rule.value != nullptr) text += " is " + rule.value(call);
    if (rule.tensor != TensorId::none) {
      if (rule.value != nullptr) text.append(" in ").append(to_string(rule.tensor)).append(",");
      text += (rule.value != nullptr ? " " : " is ") + call.problem[rule.tensor].to_string();
    }
    return Violation{rule.tensor, text + ", must be " + rule.requirement};
  }
  return std::nullopt;
}

}  // namespace phase_one

CheckReport check(const Problem& problem, const CheckOptions& options) {
  using namespace phase_one;
  const Call call = make_call(problem, options);
  CheckReport report;
  for (const Stage& stage : kStages) {
    if (!stage.scope.covers(call)) continue;
    Finding finding = stage.find(call);
    if (!finding) continue;
    report.code = stage.code;
    report.tensor = finding->tensor;
    report.message = std::move(finding->text);
    return report;
  }
  if (!has_nothing_to_do(call)) report.cann_workspace_bytes = cann_workspace_bytes(*call.scenario, call.dims);
  return report;
}

}  // namespace mla_prolog
