#include "tools/run/operands.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "mla_prolog/convert.hpp"
#include "tools/io/error.hpp"

namespace mla_prolog::tools {
namespace {

// Stands in outputs before the call, so that an element the operator forgot shows up as a difference.
constexpr std::byte kPoison{0xA5};

void cast(std::size_t element_bytes, std::int64_t k, std::int64_t n, bool to_nz, const void* from, void* to) {
  // Only the size of an element matters for the rearrangement.
  const DType dtype = element_bytes == 1 ? DType::int8 : DType::bf16;
  if (element_bytes != 1 && element_bytes != 2) throw std::invalid_argument("elements must have 1 or 2 bytes");
  if (k % 16 != 0 || n % nz_width(dtype) != 0) {
    throw std::invalid_argument("K must be a multiple of 16 and N of " + std::to_string(nz_width(dtype)));
  }
  if (k == 0 || n == 0) return;
  const TensorDesc nd = TensorDesc::dense(dtype, {k, n});
  const TensorDesc nz = TensorDesc::nz(dtype, k, n);
  const Status status = format_cast(ConstTensorView{to_nz ? nd : nz, from}, TensorView{to_nz ? nz : nd, to});
  if (!status.ok()) throw std::invalid_argument(message(status));
}

std::string float_text(float value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));
  return text.data();
}

template <typename T>
T load(const std::byte* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

}  // namespace

Tensors Operands::pointers() {
  Tensors tensors;
  for (const TensorId id : all_tensors()) tensors.set(id, (*this)[id].data());
  return tensors;
}

void Operands::allocate_outputs() {
  for (const TensorId id : all_tensors()) {
    if (!is_output(id) || !problem[id].present()) continue;
    (*this)[id] = Buffer(problem[id].extent_bytes());
    std::ranges::fill((*this)[id].bytes(), kPoison);
  }
}

PreparedWeights prepare_or_throw(const Plan& plan, Operands& operands) {
  Result<PreparedWeights> prepared = prepare_weights(plan, operands.pointers());
  if (!prepared.ok()) throw UsageError("engine: " + prepared.error().message);
  return std::move(prepared).value();
}

std::size_t total_bytes(const Problem& problem) noexcept {
  std::size_t total = 0;
  for (const TensorId id : all_tensors()) {
    if (!problem[id].present()) continue;
    const std::size_t bytes = problem[id].extent_bytes();
    if (bytes > std::numeric_limits<std::size_t>::max() - total) return std::numeric_limits<std::size_t>::max();
    total += bytes;
  }
  return total;
}

std::size_t physical_memory() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

void nd_to_nz(std::size_t element_bytes, std::int64_t k, std::int64_t n, const void* nd, void* nz) {
  cast(element_bytes, k, n, true, nd, nz);
}

void nz_to_nd(std::size_t element_bytes, std::int64_t k, std::int64_t n, const void* nz, void* nd) {
  cast(element_bytes, k, n, false, nz, nd);
}

std::string element_text(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::float32:
      return float_text(load<float>(element));
    case DType::bf16:
    case DType::float16: {
      float value = 0.0F;
      decode(dtype, element, 1, &value);
      return float_text(value);
    }
    case DType::int8:
      return std::to_string(load<std::int8_t>(element));
    case DType::int32:
      return std::to_string(load<std::int32_t>(element));
    case DType::int64:
      return std::to_string(load<std::int64_t>(element));
    default:
      return std::to_string(std::to_integer<unsigned>(*element));
  }
}

std::optional<Difference> compare(DType dtype, std::span<const std::byte> expected, std::span<const std::byte> actual) {
  if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0) return std::nullopt;
  const std::size_t size = element_size(dtype);
  Difference difference;
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    const std::byte* const want = expected.data() + i * size;
    const std::byte* const got = actual.data() + i * size;
    if (std::memcmp(want, got, size) == 0) continue;
    if (difference.count == 0) {
      difference.index = i;
      difference.expected = element_text(dtype, want);
      difference.actual = element_text(dtype, got);
    }
    ++difference.count;
  }
  return difference;
}

}  // namespace mla_prolog::tools
