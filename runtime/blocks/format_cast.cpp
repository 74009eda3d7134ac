#include <cstring>

#include "mla_prolog/convert.hpp"
#include "runtime/blocks/arguments.hpp"

namespace mla_prolog {
namespace {

constexpr std::int64_t kNzRows = 16;     // rows of a fractal
constexpr std::size_t kGroupBytes = 32;  // a row of a fractal

constexpr std::initializer_list<DType> kDTypes = {
    DType::bf16,     DType::float16,       DType::int16,       DType::uint16,      DType::int8,   DType::uint8,
    DType::hifloat8, DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e8m0, DType::boolean};

// Whether an NZ view describes the logical (k, n) matrix, by its 2-D or its 4-D shape.
bool describes(const TensorDesc& nz, std::int64_t k, std::int64_t n) {
  if (nz.rank == 2) return nz.shape[0] == k && nz.shape[1] == n;
  const std::int64_t w0 = nz_width(nz.dtype);
  return nz.rank == 4 && nz.shape[0] == n / w0 && nz.shape[1] == k / kNzRows && nz.shape[2] == kNzRows &&
         nz.shape[3] == w0;
}

}  // namespace

Status format_cast(const ConstTensorView& source, const TensorView& destination) noexcept {
  const bool to_nz = destination.desc.format == Format::fractal_nz;
  const ConstTensorView destination_view = destination;
  const ConstTensorView& nd = to_nz ? source : destination_view;
  const ConstTensorView& nz = to_nz ? destination_view : source;
  const char* nd_name = to_nz ? "source" : "destination";
  const char* nz_name = to_nz ? "destination" : "source";

  blocks::Arguments arguments;
  arguments.tensor(nd_name, nd, kDTypes).rank(nd_name, nd.desc, 2).nz_tensor(nz_name, nz, kDTypes);
  arguments.require(nz.desc.dtype == nd.desc.dtype, nz_name, static_cast<std::int64_t>(nz.desc.dtype));
  if (!arguments.ok()) return arguments.status();
  const std::int64_t k = nd.desc.shape[0];
  const std::int64_t n = nd.desc.shape[1];
  const std::int64_t w0 = nz_width(nd.desc.dtype);
  if (n % w0 != 0) arguments.width_multiple(nd_name, nd.desc, w0);
  arguments.require(k % kNzRows == 0, nd_name, k)
      .require(describes(nz.desc, k, n), nz_name, nz.desc.numel())
      .separate("destination", destination, source);
  if (!arguments.ok()) return arguments.status();

  const auto* in = static_cast<const std::byte*>(source.data);
  auto* out = static_cast<std::byte*>(destination.data);
  const std::size_t row_bytes = static_cast<std::size_t>(n) * element_size(nd.desc.dtype);
  for (std::int64_t group = 0; group < n / w0; ++group) {
    for (std::int64_t row = 0; row < k; ++row) {
      const std::size_t nd_at =
          static_cast<std::size_t>(row) * row_bytes + static_cast<std::size_t>(group) * kGroupBytes;
      const std::size_t nz_at = static_cast<std::size_t>(group * k + row) * kGroupBytes;
      std::memcpy(out + (to_nz ? nz_at : nd_at), in + (to_nz ? nd_at : nz_at), kGroupBytes);
    }
  }
  return {};
}

}  // namespace mla_prolog
