#include "runtime/problem/scenario.hpp"

#include <array>

namespace mla_prolog {
namespace {

constexpr DType kBf16 = DType::bf16;
constexpr DType kInt8 = DType::int8;
constexpr DType kE4m3 = DType::float8_e4m3fn;
constexpr DType kHif8 = DType::hifloat8;
constexpr DType kEmpty = DType::undefined;

constexpr std::array kScenarios{
    // id, w, kv, token_x, weight_uq_qr, kv_cache, kr_cache, query
    Scenario{0, 0, 0, kBf16, kBf16, kBf16, kBf16, kBf16},   Scenario{1, 1, 0, kBf16, kInt8, kBf16, kBf16, kBf16},
    Scenario{2, 1, 2, kBf16, kInt8, kInt8, kInt8, kBf16},   Scenario{5, 1, 3, kBf16, kInt8, kInt8, kEmpty, kBf16},
    Scenario{3, 2, 0, kInt8, kInt8, kBf16, kBf16, kBf16},   Scenario{4, 2, 1, kInt8, kInt8, kInt8, kBf16, kInt8},
    Scenario{6, 2, 3, kInt8, kInt8, kInt8, kEmpty, kBf16},  Scenario{7, 3, 0, kE4m3, kE4m3, kBf16, kBf16, kBf16},
    Scenario{8, 3, 1, kE4m3, kE4m3, kE4m3, kBf16, kE4m3},   Scenario{9, 3, 3, kE4m3, kE4m3, kE4m3, kEmpty, kBf16},
    Scenario{10, 4, 0, kE4m3, kE4m3, kBf16, kBf16, kBf16},  Scenario{11, 4, 1, kE4m3, kE4m3, kE4m3, kBf16, kE4m3},
    Scenario{14, 4, 3, kE4m3, kE4m3, kE4m3, kEmpty, kBf16}, Scenario{12, 5, 0, kHif8, kHif8, kBf16, kBf16, kBf16},
    Scenario{13, 5, 1, kHif8, kHif8, kHif8, kBf16, kHif8},  Scenario{15, 5, 3, kHif8, kHif8, kHif8, kEmpty, kBf16},
};

}  // namespace

std::span<const Scenario> all_scenarios() noexcept { return kScenarios; }

const Scenario* find_scenario(std::int64_t weight_mode, std::int64_t kv_mode) noexcept {
  for (const Scenario& scenario : kScenarios) {
    if (scenario.weight_mode == weight_mode && scenario.kv_mode == kv_mode) return &scenario;
  }
  return nullptr;
}

}  // namespace mla_prolog
