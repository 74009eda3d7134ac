#include "runtime/problem/workspace.hpp"

#include <algorithm>
#include <initializer_list>

#include "runtime/problem/saturating.hpp"

namespace mla_prolog {
namespace {

constexpr std::int64_t kLibraryBytes = 16 << 20;
constexpr std::int64_t kCubeCores = 20;    // of the Ascend 950 that the operator's own tests describe
constexpr std::int64_t kStepTokens = 128;  // tokens that one step works on
constexpr std::int64_t kBf16 = 2;
constexpr std::int64_t kInt32 = 4;

// The kernel that gives each core its own tokens, and so its own copy of every intermediate. (Its fourth condition, two
// vector cores for each cube core, holds on every device here.)
bool splits_tokens(const Scenario& scenario, const Dims& dims) noexcept {
  return scenario.mx() && dims.t >= 8192 && dims.n == 128 && (dims.he == 7168 || dims.he == 7680);
}

}  // namespace

std::uint64_t cann_workspace_bytes(const Scenario& scenario, const Dims& dims) noexcept {
  std::int64_t bytes = kLibraryBytes;
  if (dims.t <= 0) return static_cast<std::uint64_t>(bytes);

  const bool split = splits_tokens(scenario, dims);
  const std::int64_t rows = std::min(kStepTokens, dims.t) * (split ? kCubeCores : 1);
  const auto add = [&](std::initializer_list<std::int64_t> factors) {
    std::int64_t product = rows;
    for (const std::int64_t factor : factors) product = saturating_product(product, factor);
    bytes = saturating_sum(bytes, product);
  };

  if (scenario.full_quant()) {
    add({dims.hcq, kInt32});                                 // x . weight_dq
    add({dims.hcq, kBf16});                                  // c^Q, normalised
    add({kHckv + kDr, kInt32});                              // x . weight_dkv_kr
    if (scenario.per_tensor()) add({dims.n, kHckv, kBf16});  // q^N before it is quantised
  } else {
    add({dims.hcq, kBf16, 2});
    add({kHckv + kDr, kBf16});
  }
  add({dims.uq_columns(), kInt32});  // c^Q . weight_uq_qr
  add({dims.n, dims.d, kBf16});      // its nope columns, dequantised
  if (split && !scenario.per_tile()) add({dims.n, dims.d, kBf16});
  const bool dequant_in_pipeline = scenario.weight_mode != 0 && (!scenario.int8_weights() || dims.n >= 8);
  if (dequant_in_pipeline) add({32});  // a row's scale, one block of 32 bytes
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace mla_prolog
