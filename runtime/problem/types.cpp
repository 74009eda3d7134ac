// Names and sizes of the public enumerations: one table each.
#include "mla_prolog/types.hpp"

#include <array>
#include <cstdint>

#include "mla_prolog/tensor.hpp"

namespace mla_prolog {
namespace {

template <typename T>
struct Name {
  T value;
  std::string_view name;
};

template <typename T, std::size_t N>
constexpr std::string_view find_name(const std::array<Name<T>, N>& table, T value) noexcept {
  for (const auto& row : table) {
    if (row.value == value) return row.name;
  }
  return "?";
}

template <typename T, std::size_t N>
constexpr std::optional<T> find_value(const std::array<Name<T>, N>& table, std::string_view name) noexcept {
  for (const auto& row : table) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

struct DTypeRow {
  DType value;
  std::string_view name;
  std::uint8_t size;
};

constexpr std::array kDTypes{
    DTypeRow{DType::undefined, "DT_UNDEFINED", 0},
    DTypeRow{DType::float32, "FLOAT", 4},
    DTypeRow{DType::float16, "FLOAT16", 2},
    DTypeRow{DType::int8, "INT8", 1},
    DTypeRow{DType::int32, "INT32", 4},
    DTypeRow{DType::uint8, "UINT8", 1},
    DTypeRow{DType::int16, "INT16", 2},
    DTypeRow{DType::uint16, "UINT16", 2},
    DTypeRow{DType::uint32, "UINT32", 4},
    DTypeRow{DType::int64, "INT64", 8},
    DTypeRow{DType::uint64, "UINT64", 8},
    DTypeRow{DType::float64, "DOUBLE", 8},
    DTypeRow{DType::boolean, "BOOL", 1},
    DTypeRow{DType::string, "STRING", 0},
    DTypeRow{DType::complex64, "COMPLEX64", 8},
    DTypeRow{DType::complex128, "COMPLEX128", 16},
    DTypeRow{DType::bf16, "BF16", 2},
    DTypeRow{DType::int4, "INT4", 1},
    DTypeRow{DType::uint1, "UINT1", 1},
    DTypeRow{DType::complex32, "COMPLEX32", 4},
    DTypeRow{DType::hifloat8, "HIFLOAT8", 1},
    DTypeRow{DType::float8_e5m2, "FLOAT8_E5M2", 1},
    DTypeRow{DType::float8_e4m3fn, "FLOAT8_E4M3FN", 1},
    DTypeRow{DType::float8_e8m0, "FLOAT8_E8M0", 1},
    DTypeRow{DType::float6_e3m2, "FLOAT6_E3M2", 1},
    DTypeRow{DType::float6_e2m3, "FLOAT6_E2M3", 1},
    DTypeRow{DType::float4_e2m1, "FLOAT4_E2M1", 1},
    DTypeRow{DType::float4_e1m2, "FLOAT4_E1M2", 1},
};

constexpr std::array kFormats{
    Name<Format>{Format::undefined, "UNDEFINED"},
    Name<Format>{Format::nchw, "NCHW"},
    Name<Format>{Format::nhwc, "NHWC"},
    Name<Format>{Format::nd, "ND"},
    Name<Format>{Format::nc1hwc0, "NC1HWC0"},
    Name<Format>{Format::fractal_z, "FRACTAL_Z"},
    Name<Format>{Format::nc1hwc0_c04, "NC1HWC0_C04"},
    Name<Format>{Format::hwcn, "HWCN"},
    Name<Format>{Format::ndhwc, "NDHWC"},
    Name<Format>{Format::fractal_nz, "FRACTAL_NZ"},
    Name<Format>{Format::ncdhw, "NCDHW"},
    Name<Format>{Format::dhwcn, "DHWCN"},
    Name<Format>{Format::ndc1hwc0, "NDC1HWC0"},
    Name<Format>{Format::fractal_z_3d, "FRACTAL_Z_3D"},
    Name<Format>{Format::nc, "NC"},
    Name<Format>{Format::ncl, "NCL"},
    Name<Format>{Format::fractal_nz_c0_16, "FRACTAL_NZ_C0_16"},
    Name<Format>{Format::fractal_nz_c0_32, "FRACTAL_NZ_C0_32"},
    Name<Format>{Format::fractal_nz_c0_2, "FRACTAL_NZ_C0_2"},
    Name<Format>{Format::fractal_nz_c0_4, "FRACTAL_NZ_C0_4"},
    Name<Format>{Format::fractal_nz_c0_8, "FRACTAL_NZ_C0_8"},
};

constexpr std::array kProfiles{
    Name<Profile>{Profile::automatic, "auto"},
    Name<Profile>{Profile::a2, "a2"},
    Name<Profile>{Profile::ascend950, "950"},
};

constexpr std::array kSocs{
    Name<Soc>{Soc::automatic, "auto"},
    Name<Soc>{Soc::ascend910b, "Ascend910B"},
    Name<Soc>{Soc::ascend910_93, "Ascend910_93"},
    Name<Soc>{Soc::ascend950, "Ascend950"},
};

constexpr std::array kDomains{
    Name<Domain>{Domain::relaxed, "relaxed"},
    Name<Domain>{Domain::strict, "strict"},
};

constexpr std::array kNumerics{
    Name<Numerics>{Numerics::strict, "strict"},
    Name<Numerics>{Numerics::fast, "fast"},
};

constexpr std::array kBackends{
    Name<Backend>{Backend::automatic, "auto"}, Name<Backend>{Backend::reference, "reference"},
    Name<Backend>{Backend::cpu, "cpu"},        Name<Backend>{Backend::onednn, "onednn"},
    Name<Backend>{Backend::ascend, "ascend"},
};

constexpr std::array kIsas{
    Name<Isa>{Isa::automatic, "auto"}, Name<Isa>{Isa::scalar, "scalar"},
    Name<Isa>{Isa::sse4_2, "sse4.2"},  Name<Isa>{Isa::avx2, "avx2"},
    Name<Isa>{Isa::avx512, "avx512"},  Name<Isa>{Isa::avx512_vnni, "avx512-vnni"},
    Name<Isa>{Isa::neon, "neon"},      Name<Isa>{Isa::neon_dotprod, "neon-dotprod"},
};

constexpr std::array kCacheModes{
    Name<CacheMode>{CacheMode::pa_bsnd, "PA_BSND"},
    Name<CacheMode>{CacheMode::pa_nz, "PA_NZ"},
    Name<CacheMode>{CacheMode::pa_blk_bsnd, "PA_BLK_BSND"},
    Name<CacheMode>{CacheMode::pa_blk_nz, "PA_BLK_NZ"},
    Name<CacheMode>{CacheMode::bsnd, "BSND"},
    Name<CacheMode>{CacheMode::tnd, "TND"},
};

constexpr std::array<std::string_view, kTensorCount + 1> kTensorNames{
    "token_x",
    "weight_dq",
    "weight_uq_qr",
    "weight_uk",
    "weight_dkv_kr",
    "rmsnorm_gamma_cq",
    "rmsnorm_gamma_ckv",
    "rope_sin",
    "rope_cos",
    "kv_cache",
    "kr_cache",
    "cache_index",
    "dequant_scale_x",
    "dequant_scale_w_dq",
    "dequant_scale_w_uq_qr",
    "dequant_scale_w_dkv_kr",
    "quant_scale_ckv",
    "quant_scale_ckr",
    "smooth_scales_cq",
    "actual_seq_len",
    "k_nope_clip_alpha",
    "query",
    "query_rope",
    "dequant_scale_q_nope",
    "query_norm",
    "dequant_scale_q_norm",
    "none",
};

}  // namespace

std::size_t element_size(DType dtype) noexcept {
  for (const auto& row : kDTypes) {
    if (row.value == dtype) return row.size;
  }
  return 0;
}

std::int64_t nz_width(DType dtype) noexcept {
  const std::size_t size = element_size(dtype);
  return size == 0 ? 0 : static_cast<std::int64_t>(32 / size);
}

std::string_view to_string(DType value) noexcept {
  for (const auto& row : kDTypes) {
    if (row.value == value) return row.name;
  }
  return "?";
}
std::string_view to_string(Format value) noexcept { return find_name(kFormats, value); }
std::string_view to_string(Profile value) noexcept { return find_name(kProfiles, value); }
std::string_view to_string(Soc value) noexcept { return find_name(kSocs, value); }
std::string_view to_string(Domain value) noexcept { return find_name(kDomains, value); }
std::string_view to_string(Numerics value) noexcept { return find_name(kNumerics, value); }
std::string_view to_string(Backend value) noexcept { return find_name(kBackends, value); }
std::string_view to_string(Isa value) noexcept { return find_name(kIsas, value); }
std::string_view to_string(CacheMode value) noexcept { return find_name(kCacheModes, value); }
std::string_view to_string(TensorId id) noexcept {
  const auto i = static_cast<std::size_t>(id);
  return i < kTensorNames.size() ? kTensorNames[i] : "?";
}

template <>
std::optional<DType> parse<DType>(std::string_view name) noexcept {
  for (const auto& row : kDTypes) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}
template <>
std::optional<Format> parse<Format>(std::string_view name) noexcept {
  return find_value(kFormats, name);
}
template <>
std::optional<Profile> parse<Profile>(std::string_view name) noexcept {
  return find_value(kProfiles, name);
}
template <>
std::optional<Soc> parse<Soc>(std::string_view name) noexcept {
  return find_value(kSocs, name);
}
template <>
std::optional<Domain> parse<Domain>(std::string_view name) noexcept {
  return find_value(kDomains, name);
}
template <>
std::optional<Numerics> parse<Numerics>(std::string_view name) noexcept {
  return find_value(kNumerics, name);
}
template <>
std::optional<Backend> parse<Backend>(std::string_view name) noexcept {
  return find_value(kBackends, name);
}
template <>
std::optional<Isa> parse<Isa>(std::string_view name) noexcept {
  return find_value(kIsas, name);
}
template <>
std::optional<CacheMode> parse<CacheMode>(std::string_view name) noexcept {
  return find_value(kCacheModes, name);
}
template <>
std::optional<TensorId> parse<TensorId>(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTensorCount; ++i) {
    if (kTensorNames[i] == name) return static_cast<TensorId>(i);
  }
  return std::nullopt;
}

}  // namespace mla_prolog
