// What each tensor of a call has to be, once its scenario and sizes are known: the tables of validation.md 4.11.
// `describe` makes tensors from them, `check` compares tensors with them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/tensor.hpp"
#include "runtime/problem/dims.hpp"
#include "runtime/problem/scenario.hpp"

namespace mla_prolog {

/// A call as far as it decides what its tensors have to be.
struct Layout {
  ApiVersion api = ApiVersion::v3;
  const Scenario* scenario = nullptr;
  CacheMode cache_mode = CacheMode::pa_bsnd;
  Dims dims;
  bool query_norm = false;  ///< query_norm is requested
};

enum class Presence : std::uint8_t {
  absent,     ///< must be null
  required,   ///< must be there as described
  optional,   ///< null, or as described
  unchecked,  ///< anything goes here
};

/// A size that may be anything. No caller's size is mistaken for it.
inline constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::min();

struct Expectation {
  Presence presence = Presence::absent;
  DType dtype = DType::undefined;
  Format format = Format::nd;
  int rank = 0;                         ///< of the logical shape
  std::array<std::int64_t, 4> shape{};  ///< logical: (k, n) of a FRACTAL_NZ weight
};

/// The formats that the framework takes as ND when a tensor comes in.
bool is_taken_as_nd(Format format) noexcept;

Expectation expected(TensorId tensor, const Layout& layout) noexcept;

/// Dimension `index` of the 4-D storage of the FRACTAL_NZ weight that `expectation` describes.
std::int64_t nz_dim(const Expectation& expectation, int index) noexcept;

}  // namespace mla_prolog
