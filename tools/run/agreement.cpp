#include "tools/run/agreement.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>

#include "mla_prolog/convert.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::uint64_t kOneIsNan = std::numeric_limits<std::uint64_t>::max();

// Sign-magnitude bits as a number that grows with the value; both zeros are 0.
std::int64_t ordered(std::uint32_t bits, std::uint32_t sign_bit) {
  const auto magnitude = static_cast<std::int64_t>(bits & (sign_bit - 1));
  return (bits & sign_bit) != 0 ? -magnitude : magnitude;
}

std::uint64_t apart(std::int64_t a, std::int64_t b) { return static_cast<std::uint64_t>(a > b ? a - b : b - a); }

// For each code of an 8-bit float its place among the format's values.
std::array<std::int64_t, 256> code_places(DType dtype) {
  std::array<std::uint8_t, 256> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  std::array<float, 256> values{};
  decode(dtype, codes.data(), codes.size(), values.data());
  std::vector<float> sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted), [](float value) { return !std::isnan(value); });
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::array<std::int64_t, 256> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = std::isnan(values[i]) ? -1 : std::ranges::lower_bound(sorted, values[i]) - sorted.begin();
  }
  return places;
}

double bf16_value(const std::byte* p) {
  std::uint16_t code;
  std::memcpy(&code, p, sizeof code);
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

double float_value(const std::byte* p) {
  float value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// The bound for one element at some distance. Another order of summation moves a float32 sum by little, but a result
// that was rounded in between may cross to the neighbour there, and what is left after cancellation shows it enlarged:
// so beside units in the last place there is the tolerance of the operator's public tests, by value.
bool near(DType dtype, std::uint64_t distance, const std::byte* a, const std::byte* b) {
  if (distance == kOneIsNan) return false;
  if (distance <= 1) return true;
  if (dtype == DType::bf16) {
    const double want = bf16_value(a);
    return std::fabs(want - bf16_value(b)) <= 0.05 + 0.05 * std::fabs(want);
  }
  if (dtype != DType::float32) return false;
  const double want = float_value(a);
  return distance == 2 || std::fabs(want - float_value(b)) <= 0.005 * std::fabs(want);
}

// Distance between elements of one dtype.
class Metric {
 public:
  explicit Metric(DType dtype) : dtype_(dtype) {
    if (is_small_float()) places_ = code_places(dtype);
  }

  std::uint64_t operator()(const std::byte* a, const std::byte* b) const {
    switch (dtype_) {
      case DType::float32:
        return floats(load<std::uint32_t>(a), load<std::uint32_t>(b), 0x80000000, 0x7F800000);
      case DType::bf16:
        return floats(load<std::uint16_t>(a), load<std::uint16_t>(b), 0x8000, 0x7F80);
      case DType::int8:
        return apart(load<std::int8_t>(a), load<std::int8_t>(b));
      default:
        break;
    }
    if (!is_small_float()) return apart(load<std::uint8_t>(a), load<std::uint8_t>(b));
    const std::int64_t x = places_[load<std::uint8_t>(a)];
    const std::int64_t y = places_[load<std::uint8_t>(b)];
    if (x < 0 || y < 0) return x == y ? 0 : kOneIsNan;
    return apart(x, y);
  }

 private:
  bool is_small_float() const { return dtype_ == DType::float8_e4m3fn || dtype_ == DType::hifloat8; }

  template <typename T>
  static T load(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }

  static std::uint64_t floats(std::uint32_t a, std::uint32_t b, std::uint32_t sign, std::uint32_t infinity) {
    const bool a_nan = (a & (sign - 1)) > infinity;
    const bool b_nan = (b & (sign - 1)) > infinity;
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : kOneIsNan;
    return apart(ordered(a, sign), ordered(b, sign));
  }

  DType dtype_;
  std::array<std::int64_t, 256> places_{};
};

std::size_t bucket(std::uint64_t distance) {
  if (distance == kOneIsNan) return 7;
  if (distance <= 2) return static_cast<std::size_t>(distance);
  return std::min<std::size_t>(6, static_cast<std::size_t>(std::bit_width(distance - 1)) + 1);
}

// Adds `count` elements that lie one after the other.
void add(Agreement& agreement, const Metric& metric, const std::byte* a, const std::byte* b, std::size_t count) {
  const std::size_t step = element_size(agreement.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t distance = metric(a + i * step, b + i * step);
    ++agreement.histogram[bucket(distance)];
    if (agreement.dtype == DType::bf16 && distance != kOneIsNan) {
      const double want = bf16_value(a + i * step);
      const double error = distance > 1 ? want - bf16_value(b + i * step) : 0.0;
      if (!std::isnan(want)) agreement.squares += want * want;
      agreement.error_squares += error * error;
    }
    if (!near(agreement.dtype, distance, a + i * step, b + i * step)) ++agreement.outside;
    if (distance != kOneIsNan) agreement.largest = std::max(agreement.largest, distance);
  }
  agreement.elements += count;
}

struct Part {
  const char* suffix;
  DType dtype;
  std::size_t offset;  // bytes into a row
  std::size_t count;   // elements of a row
};

Agreement agreement_of_part(std::string_view tensor, const Part& part, std::size_t row_bytes, const Buffer& a,
                            const Buffer& b) {
  Agreement agreement{.tensor = std::string(tensor) + part.suffix, .dtype = part.dtype};
  const Metric metric(part.dtype);
  for (std::size_t row = 0; row + row_bytes <= a.size(); row += row_bytes) {
    add(agreement, metric, a.bytes().data() + row + part.offset, b.bytes().data() + row + part.offset, part.count);
  }
  return agreement;
}

}  // namespace

double Agreement::share_equal() const noexcept {
  return elements == 0 ? 1.0 : static_cast<double>(equal()) / static_cast<double>(elements);
}

double Agreement::share_off_by_one() const noexcept {
  return elements == 0 ? 0.0 : static_cast<double>(histogram[1]) / static_cast<double>(elements);
}

bool Agreement::within_fast_bounds() const noexcept {
  // By value alone a tensor of small numbers could be anything.
  if (outside != 0 || error_squares > 0x1p-16 * squares) return false;
  // One tile may have a scale that moved, and with it many of its codes.
  const std::size_t most = std::max<std::size_t>(kTileSize, elements / 1000);
  return dtype != DType::int8 || histogram[1] <= most;
}

std::vector<Agreement> agreement_of(const Operands& a, const Operands& b) {
  std::vector<Agreement> result;
  for (const TensorId id : all_tensors()) {
    const TensorDesc& desc = a.problem[id];
    if ((!is_output(id) && !is_cache(id)) || desc.numel() == 0) continue;
    const std::int64_t width = desc.shape[static_cast<std::size_t>(desc.rank - 1)];
    if (id == TensorId::kv_cache && width == kPerTileRow) {
      const Part parts[] = {{".codes", desc.dtype, 0, kHckv},
                            {".rope", DType::bf16, kHckv, kDr},
                            {".scales", DType::float32, kHckv + 2 * kDr, kHckv / kTileSize}};
      for (const Part& part : parts) {
        result.push_back(agreement_of_part(to_string(id), part, kPerTileRow, a[id], b[id]));
      }
      continue;
    }
    const Part whole{"", desc.dtype, 0, static_cast<std::size_t>(width)};
    result.push_back(agreement_of_part(to_string(id), whole, static_cast<std::size_t>(width) * element_size(desc.dtype),
                                       a[id], b[id]));
  }
  return result;
}

}  // namespace mla_prolog::tools
