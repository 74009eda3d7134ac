// Size arithmetic that cannot overflow: sizes come from callers and may be absurd.
#pragma once

#include <cstdint>
#include <limits>

namespace mla_prolog {

/// a * b, or INT64_MAX where that does not fit.
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

/// a + b, or INT64_MAX where that does not fit.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// ceil(a / b) for a >= 0, and 0 where b is not positive.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return b <= 0 ? 0 : a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace mla_prolog
