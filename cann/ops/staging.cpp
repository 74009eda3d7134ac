#include "cann/ops/staging.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

namespace mla_prolog::cann {
namespace {

/// Calls copy(offset in the view, offset in the dense image, bytes) for runs of equal distance, in bytes.
template <typename Copy>
void for_each_run(const TensorDesc& view, Copy&& copy) {
  const auto rank = static_cast<std::size_t>(view.rank);
  const std::size_t element = element_size(view.dtype);
  std::array<std::int64_t, kMaxRank> index{};
  std::size_t run = element;
  std::size_t outer = rank;
  // The trailing dimensions that are dense move as one.
  while (outer > 0 && view.strides[outer - 1] == static_cast<std::int64_t>(run / element)) {
    run *= static_cast<std::size_t>(view.shape[--outer]);
  }
  const std::size_t total = static_cast<std::size_t>(view.numel()) * element;
  for (std::size_t dense = 0; dense < total; dense += run) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < outer; ++i) offset += index[i] * view.strides[i];
    copy(static_cast<std::size_t>(offset) * element, dense, run);
    for (std::size_t i = outer; i-- > 0;) {
      if (++index[i] < view.shape[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace

TensorDesc densified(const TensorDesc& view) {
  return TensorDesc::dense(view.dtype, std::span(view.shape).first(static_cast<std::size_t>(view.rank)), view.format);
}

std::string refuse_strides(const char* name, const TensorDesc& view) {
  if (!view.present() || view.is_dense() || view.numel() == 0) return {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.rank); ++i) {
    if (view.shape[i] <= 1 || view.strides[i] >= 0) continue;
    return std::string(name) + " has stride " + std::to_string(view.strides[i]) + " in dimension " + std::to_string(i) +
           ", strides must not be negative";
  }
  // The logical shape of such a weight says nothing about where its groups lie.
  if (view.format == Format::fractal_nz && view.rank < 4) {
    return std::string(name) + " is FRACTAL_NZ with a view of " + std::to_string(view.rank) +
           " dimensions and must be dense, has strides of its own";
  }
  return {};
}

bool uncountable(const aclTensor& tensor) {
  // More than the bytes that one element takes when it is filled up to a fractal of its own.
  constexpr std::int64_t kMostPadding = 2048;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kMostPadding;
  const auto wrong = [](std::int64_t dim) { return dim < 0 || dim > kMost; };
  return std::any_of(tensor.view.begin(), tensor.view.begin() + tensor.view_rank, wrong) ||
         describe_tensor(&tensor).numel() > kMost;
}

void gather(const TensorDesc& view, const void* source, void* dense) {
  for_each_run(view, [&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(static_cast<char*>(dense) + to, static_cast<const char*>(source) + from, bytes);
  });
}

void scatter(const TensorDesc& view, const void* dense, void* destination) {
  for_each_run(view, [&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(static_cast<char*>(destination) + to, static_cast<const char*>(dense) + from, bytes);
  });
}

void copy_view(const TensorDesc& view, const void* source, void* destination) {
  for_each_run(view, [&](std::size_t at, std::size_t, std::size_t bytes) {
    std::memcpy(static_cast<char*>(destination) + at, static_cast<const char*>(source) + at, bytes);
  });
}

}  // namespace mla_prolog::cann
