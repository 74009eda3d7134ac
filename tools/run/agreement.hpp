// How far two results of one call are apart, tensor by tensor, in steps of the tensor's own number format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

/// Distances 0, 1, 2, 3-4, 5-8, 9-16, 17 and more; the last counts elements of which only one is NaN.
inline constexpr std::array<const char*, 8> kDistanceNames{"equal", "1", "2", "3-4", "5-8", "9-16", "17+", "nan"};

/// Agreement of one tensor, or of one part of a per-tile kv_cache (codes, rope, scales).
struct Agreement {
  std::string tensor;
  DType dtype = DType::undefined;
  std::size_t elements = 0;
  /// Elements by distance: units in the last place of bf16 and float32, numbers of codes between 8-bit codes.
  std::array<std::size_t, kDistanceNames.size()> histogram{};
  std::uint64_t largest = 0;   ///< distance, NaN apart
  std::size_t outside = 0;     ///< elements further apart than `numerics = fast` allows
  double squares = 0.0;        ///< of bf16 values, summed
  double error_squares = 0.0;  ///< of their differences beyond one unit in the last place

  std::size_t equal() const noexcept { return histogram[0]; }
  /// Shares of all elements; 1 and 0 for an empty tensor.
  double share_equal() const noexcept;
  double share_off_by_one() const noexcept;
  /// Whether `numerics = fast` may give the one result where `strict` gives the other: bf16 by one unit in the last
  /// place or 0.05 plus 5 %, and all together by 2^-8 of their norm, float32 scales by two units or half a percent,
  /// 8-bit codes by one, and of int8 codes at most one in a thousand (of a short tensor as many as one tile has).
  bool within_fast_bounds() const noexcept;
};

/// Compares all outputs and whole caches of two runs of one problem. `a` may hold fewer tokens than `b`, then only they
/// are compared.
std::vector<Agreement> agreement_of(const Operands& a, const Operands& b);

}  // namespace mla_prolog::tools
