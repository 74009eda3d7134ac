// Every tensor against what its scenario makes of it: presence, dtype, format, rank and shape (validation.md 4.11).
#include <algorithm>
#include <string>

#include "runtime/problem/expectation.hpp"
#include "runtime/problem/rules.hpp"

namespace mla_prolog::phase_one {
namespace {

bool shape_fits(const TensorDesc& desc, const Expectation& expectation) noexcept {
  const auto size = [&](int i) { return desc.shape[static_cast<std::size_t>(i)]; };
  if (expectation.format == Format::fractal_nz && desc.rank == 4) {
    for (int i = 0; i < 4; ++i) {
      if (size(i) != nz_dim(expectation, i)) return false;
    }
    return true;
  }
  if (desc.rank != expectation.rank) return false;
  for (int i = 0; i < expectation.rank; ++i) {
    const std::int64_t wanted = expectation.shape[static_cast<std::size_t>(i)];
    if (size(i) < 0 || (wanted != kAnySize && size(i) != wanted)) return false;
  }
  return true;
}

bool has_negative_size(const TensorDesc& desc) noexcept {
  for (int i = 0; i < std::min(desc.rank, kMaxRank); ++i) {
    if (desc.shape[static_cast<std::size_t>(i)] < 0) return true;
  }
  return false;
}

bool format_fits(Format format, Format wanted) noexcept {
  return wanted == Format::fractal_nz ? format == Format::fractal_nz : is_taken_as_nd(format);
}

bool fits(const TensorDesc& desc, const Expectation& expectation) noexcept {
  switch (expectation.presence) {
    case Presence::unchecked:
      return true;
    case Presence::absent:
      return !desc.present();
    case Presence::optional:
      if (!desc.present()) return true;
      break;
    case Presence::required:
      if (!desc.present()) return false;
      break;
  }
  return desc.dtype == expectation.dtype && format_fits(desc.format, expectation.format) &&
         shape_fits(desc, expectation);
}

// "BF16 FRACTAL_NZ [7168, 1536] or [96, 448, 16, 16]".
std::string to_string(const Expectation& expectation) {
  std::string text(mla_prolog::to_string(expectation.dtype));
  if (expectation.format == Format::fractal_nz) text += " FRACTAL_NZ";
  text += " [";
  for (int i = 0; i < expectation.rank; ++i) {
    const std::int64_t size = expectation.shape[static_cast<std::size_t>(i)];
    text += (i > 0 ? ", " : "") + (size == kAnySize ? "any" : std::to_string(size));
  }
  text += "]";
  if (expectation.format == Format::fractal_nz) {
    text += " or [";
    for (int i = 0; i < 4; ++i) text += (i > 0 ? ", " : "") + std::to_string(nz_dim(expectation, i));
    text += "]";
  }
  return text;
}

std::string requirement(const Expectation& expectation) {
  switch (expectation.presence) {
    case Presence::absent:
      return "null in this scenario";
    case Presence::optional:
      return "null or " + to_string(expectation);
    default:
      return to_string(expectation);
  }
}

}  // namespace

Finding table_violation(const Call& call) {
  const Layout layout{.api = call.api,
                      .scenario = call.scenario,
                      .cache_mode = *call.cache_mode,
                      .dims = call.dims,
                      .query_norm = call.v3() && call.problem.query_norm.present()};
  Finding first;
  std::string others;
  for (const TensorId id : all_tensors()) {
    const Expectation expectation = expected(id, layout);
    // The relaxed domain computes as if a clip factor that the scenario has no use for were null.
    const bool ignored =
        call.relaxed() && id == TensorId::k_nope_clip_alpha && expectation.presence == Presence::absent;
    if (ignored || fits(call.problem[id], expectation)) continue;
    const std::string name(mla_prolog::to_string(id));
    if (first) {
      others += (others.empty() ? "; wrong too: " : ", ") + name;
    } else {
      const TensorDesc& desc = call.problem[id];
      // The sizes that are expected come from the first tensors: a negative one would be required of itself.
      const std::string cause = has_negative_size(desc) && expectation.presence != Presence::absent
                                    ? "dimensions must not be negative"
                                    : "must be " + requirement(expectation);
      first = Violation{id, name + " is " + desc.to_string() + ", " + cause};
    }
  }
  if (first) first->text += others;
  return first;
}

}  // namespace mla_prolog::phase_one
