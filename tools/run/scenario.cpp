#include "tools/run/scenario.hpp"

#include <array>

namespace mla_prolog::tools {
namespace {

constexpr std::array<ScenarioName, 16> kScenarios{{{0, 0},
                                                   {1, 0},
                                                   {1, 2},
                                                   {1, 3},
                                                   {2, 0},
                                                   {2, 1},
                                                   {2, 3},
                                                   {3, 0},
                                                   {3, 1},
                                                   {3, 3},
                                                   {4, 0},
                                                   {4, 1},
                                                   {4, 3},
                                                   {5, 0},
                                                   {5, 1},
                                                   {5, 3}}};

}  // namespace

std::string ScenarioName::text() const {
  std::string name = "w";
  return name.append(std::to_string(weight)).append("kv").append(std::to_string(kv));
}

DType ScenarioName::operand_dtype() const noexcept {
  constexpr std::array kByMode{DType::bf16,          DType::int8,          DType::int8,
                               DType::float8_e4m3fn, DType::float8_e4m3fn, DType::hifloat8};
  return kByMode[static_cast<std::size_t>(weight)];
}

std::span<const ScenarioName> all_scenarios() noexcept { return kScenarios; }

std::optional<ScenarioName> parse_scenario(std::string_view text) noexcept {
  for (const ScenarioName& scenario : kScenarios) {
    if (scenario.text() == text) return scenario;
  }
  return std::nullopt;
}

float largest_value(DType dtype) noexcept {
  switch (dtype) {
    case DType::float8_e4m3fn:
      return 448.0F;
    case DType::hifloat8:
      return 32768.0F;
    default:
      return 127.0F;
  }
}

}  // namespace mla_prolog::tools
