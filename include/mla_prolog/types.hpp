// The vocabulary of the MLA prolog: data types, layouts, scenarios, and the choices a plan takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mla_prolog/export.hpp"

namespace mla_prolog {

/// Element types. The numbers are those of CANN's aclDataType, so a value can be passed through.
enum class DType : std::int32_t {
  undefined = -1,
  float32 = 0,
  float16 = 1,
  int8 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 6,
  uint16 = 7,
  uint32 = 8,
  int64 = 9,
  uint64 = 10,
  float64 = 11,
  boolean = 12,
  string = 13,
  complex64 = 16,
  complex128 = 17,
  bf16 = 27,
  int4 = 29,
  uint1 = 30,
  complex32 = 33,
  hifloat8 = 34,
  float8_e5m2 = 35,
  float8_e4m3fn = 36,
  float8_e8m0 = 37,
  float6_e3m2 = 38,
  float6_e2m3 = 39,
  float4_e2m1 = 40,
  float4_e1m2 = 41,
};

/// Memory formats. The numbers are those of CANN's aclFormat. The library computes on `nd` and `fractal_nz`;
/// the rest exist so that validation can name what it was given.
enum class Format : std::int32_t {
  undefined = -1,
  nchw = 0,
  nhwc = 1,
  nd = 2,
  nc1hwc0 = 3,
  fractal_z = 4,
  nc1hwc0_c04 = 12,
  hwcn = 16,
  ndhwc = 27,
  fractal_nz = 29,
  ncdhw = 30,
  dhwcn = 31,
  ndc1hwc0 = 32,
  fractal_z_3d = 33,
  nc = 35,
  ncl = 47,
  fractal_nz_c0_16 = 50,
  fractal_nz_c0_32 = 51,
  fractal_nz_c0_2 = 52,
  fractal_nz_c0_4 = 53,
  fractal_nz_c0_8 = 54,
};

/// The arithmetic to reproduce: the Atlas A2/A3 kernels or the Ascend 950 kernels. `automatic` is `a2` for
/// weight_quant_mode 0..2 and `ascend950` for 3..5.
enum class Profile : std::uint8_t { automatic, a2, ascend950 };

/// The device generation whose phase-one rules `Domain::strict` applies. `automatic` is Ascend950 for
/// weight_quant_mode 3..5 and Ascend910B otherwise.
enum class Soc : std::uint8_t { automatic, ascend910b, ascend910_93, ascend950 };

/// Which problems are accepted: exactly the hardware's domain, or the wider one this library can compute.
enum class Domain : std::uint8_t { relaxed, strict };

/// `strict`: bit-reproducible summation order on every path. `fast`: an engine may sum in another order.
enum class Numerics : std::uint8_t { strict, fast };

/// What executes a plan. `reference` is the scalar oracle; `cpu` the optimised native kernels; `onednn` the
/// native kernels with oneDNN matmuls wherever those can be had (prepare.hpp), refused where none can; `ascend` the
/// real device through CANN.
enum class Backend : std::uint8_t { automatic, reference, cpu, onednn, ascend };

/// Instruction sets of the `cpu` backend. `scalar` is the reference.
enum class Isa : std::uint8_t { automatic, scalar, sse4_2, avx2, avx512, avx512_vnni, neon, neon_dotprod };

/// How kv_cache and kr_cache are addressed; the names are those of the operator's `cache_mode` attribute.
enum class CacheMode : std::uint8_t { pa_bsnd, pa_nz, pa_blk_bsnd, pa_blk_nz, bsnd, tnd };

/// Bytes of one element; 1 for sub-byte types, 0 for `undefined` and `string`.
MLA_PROLOG_API std::size_t element_size(DType dtype) noexcept;

/// Columns of a FRACTAL_NZ group: 32 bytes' worth of elements (16 for bf16, 32 for 8-bit types).
MLA_PROLOG_API std::int64_t nz_width(DType dtype) noexcept;

/// Names as CANN writes them without the prefix ("BF16", "FLOAT8_E4M3FN", "FRACTAL_NZ", "PA_BSND") or as the
/// command line does ("a2", "avx512-vnni"). The returned views point to static storage.
MLA_PROLOG_API std::string_view to_string(DType value) noexcept;
MLA_PROLOG_API std::string_view to_string(Format value) noexcept;
MLA_PROLOG_API std::string_view to_string(Profile value) noexcept;
MLA_PROLOG_API std::string_view to_string(Soc value) noexcept;
MLA_PROLOG_API std::string_view to_string(Domain value) noexcept;
MLA_PROLOG_API std::string_view to_string(Numerics value) noexcept;
MLA_PROLOG_API std::string_view to_string(Backend value) noexcept;
MLA_PROLOG_API std::string_view to_string(Isa value) noexcept;
MLA_PROLOG_API std::string_view to_string(CacheMode value) noexcept;

/// The inverse of `to_string`; empty when the name is unknown. Exact and case-sensitive.
template <typename T>
std::optional<T> parse(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<DType> parse<DType>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Format> parse<Format>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Profile> parse<Profile>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Soc> parse<Soc>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Domain> parse<Domain>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Numerics> parse<Numerics>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Backend> parse<Backend>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<Isa> parse<Isa>(std::string_view name) noexcept;
template <>
MLA_PROLOG_API std::optional<CacheMode> parse<CacheMode>(std::string_view name) noexcept;

/// Dimensions the operator fixes.
inline constexpr std::int64_t kHckv = 512;        ///< latent KV width
inline constexpr std::int64_t kDr = 64;           ///< rope width
inline constexpr std::int64_t kTileSize = 128;    ///< per-tile cache quantisation
inline constexpr std::int64_t kMxBlock = 32;      ///< elements that share one E8M0 scale
inline constexpr std::int64_t kPerTileRow = 656;  ///< bytes of a per-tile kv_cache row: 512 codes, 64 bf16, 4 float32

}  // namespace mla_prolog
