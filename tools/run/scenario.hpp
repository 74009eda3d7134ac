// The sixteen quantisation scenarios by name: "w2kv1" is weight mode 2 with KV mode 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mla_prolog/types.hpp"

namespace mla_prolog::tools {

struct ScenarioName {
  std::int64_t weight = 0;
  std::int64_t kv = 0;

  std::string text() const;
  /// int8, e4m3 or hif8 of the quantised operands; bf16 in mode 0.
  DType operand_dtype() const noexcept;
  /// Whether x, weight_dq and weight_dkv_kr are quantised too, not only weight_uq_qr.
  bool full() const noexcept { return weight >= 2; }
  bool mx() const noexcept { return weight == 3; }
  bool takes_smooth_scales() const noexcept { return weight != 0 && weight != 3; }
};

std::span<const ScenarioName> all_scenarios() noexcept;
std::optional<ScenarioName> parse_scenario(std::string_view text) noexcept;

/// The largest value of an 8-bit type: 127, 448, 32768.
float largest_value(DType dtype) noexcept;

}  // namespace mla_prolog::tools
