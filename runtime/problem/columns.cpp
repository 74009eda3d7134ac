// What the generic layer checks before the operator's own code runs: null pointers, then whether some kernel exists for
// the dtypes and formats (validation.md 1, steps 7 to 9, and 3).
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "runtime/problem/expectation.hpp"
#include "runtime/problem/rules.hpp"

namespace mla_prolog::phase_one {
namespace {

using Id = TensorId;

// The tensors that take part, in parameter order. Of V3 the last three may be null.
constexpr std::array kTensorsV3{
    Id::token_x,           Id::weight_dq,
    Id::weight_uq_qr,      Id::weight_uk,
    Id::weight_dkv_kr,     Id::rmsnorm_gamma_cq,
    Id::rmsnorm_gamma_ckv, Id::rope_sin,
    Id::rope_cos,          Id::kv_cache,
    Id::kr_cache,          Id::query,
    Id::query_rope,        Id::dequant_scale_q_nope,
    Id::query_norm,        Id::dequant_scale_q_norm,
};
// Of V2 the last may be null; V1 does not have it.
constexpr std::array kTensorsV2{
    Id::token_x,          Id::weight_dq,         Id::weight_uq_qr, Id::weight_uk,  Id::weight_dkv_kr,
    Id::rmsnorm_gamma_cq, Id::rmsnorm_gamma_ckv, Id::rope_sin,     Id::rope_cos,   Id::cache_index,
    Id::kv_cache,         Id::kr_cache,          Id::query,        Id::query_rope, Id::dequant_scale_q_nope,
};

std::span<const Id> tensors_of(ApiVersion api) noexcept {
  if (api == ApiVersion::v3) return kTensorsV3;
  if (api == ApiVersion::v2) return kTensorsV2;
  return std::span(kTensorsV2).first(kTensorsV2.size() - 1);
}

constexpr bool is_optional_output(Id id) noexcept {
  return id == Id::dequant_scale_q_nope || id == Id::query_norm || id == Id::dequant_scale_q_norm;
}

// The dtypes of one kernel. weight_dq and weight_dkv_kr have token_x's, query_norm has weight_uq_qr's; the rest never
// vary.
struct Column {
  DType token_x;
  DType weight_uq_qr;
  DType kv_cache;
  DType kr_cache;
  DType query;
  DType dequant_scale_q_norm;
};

constexpr DType kBf16 = DType::bf16;
constexpr DType kInt8 = DType::int8;
constexpr DType kE4m3 = DType::float8_e4m3fn;
constexpr DType kHif8 = DType::hifloat8;
constexpr DType kFloat = DType::float32;
constexpr DType kE8m0 = DType::float8_e8m0;

constexpr std::array kColumnsArch22{
    Column{kBf16, kBf16, kBf16, kBf16, kBf16, kFloat}, Column{kBf16, kInt8, kInt8, kInt8, kBf16, kFloat},
    Column{kBf16, kInt8, kBf16, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kInt8, kBf16, kFloat},
    Column{kInt8, kInt8, kBf16, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kBf16, kInt8, kFloat},
    Column{kBf16, kInt8, kInt8, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kBf16, kBf16, kFloat},
};

constexpr std::array kColumnsArch35{
    Column{kBf16, kBf16, kBf16, kBf16, kBf16, kFloat}, Column{kBf16, kInt8, kBf16, kBf16, kBf16, kFloat},
    Column{kBf16, kInt8, kInt8, kInt8, kBf16, kFloat}, Column{kBf16, kInt8, kInt8, kBf16, kBf16, kFloat},
    Column{kInt8, kInt8, kBf16, kBf16, kBf16, kFloat}, Column{kE4m3, kE4m3, kBf16, kBf16, kBf16, kFloat},
    Column{kHif8, kHif8, kBf16, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kBf16, kInt8, kFloat},
    Column{kE4m3, kE4m3, kE4m3, kBf16, kE4m3, kFloat}, Column{kHif8, kHif8, kHif8, kBf16, kHif8, kFloat},
    Column{kInt8, kInt8, kInt8, kBf16, kBf16, kFloat}, Column{kE4m3, kE4m3, kE4m3, kBf16, kBf16, kFloat},
    Column{kHif8, kHif8, kHif8, kBf16, kBf16, kFloat}, Column{kE4m3, kE4m3, kBf16, kBf16, kBf16, kE8m0},
    Column{kE4m3, kE4m3, kE4m3, kBf16, kE4m3, kE8m0},  Column{kE4m3, kE4m3, kE4m3, kBf16, kBf16, kE8m0},
};

// V1 has the first five: its query is always BF16.
constexpr std::array kColumnsV2{
    Column{kBf16, kBf16, kBf16, kBf16, kBf16, kFloat}, Column{kBf16, kInt8, kInt8, kInt8, kBf16, kFloat},
    Column{kBf16, kInt8, kBf16, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kInt8, kBf16, kFloat},
    Column{kInt8, kInt8, kBf16, kBf16, kBf16, kFloat}, Column{kInt8, kInt8, kInt8, kBf16, kInt8, kFloat},
};

DType column_dtype(const Column& column, Id id) noexcept {
  switch (id) {
    case Id::token_x:
    case Id::weight_dq:
    case Id::weight_dkv_kr:
      return column.token_x;
    case Id::weight_uq_qr:
    case Id::query_norm:
      return column.weight_uq_qr;
    case Id::kv_cache:
      return column.kv_cache;
    case Id::kr_cache:
      return column.kr_cache;
    case Id::query:
      return column.query;
    case Id::dequant_scale_q_norm:
      return column.dequant_scale_q_norm;
    case Id::dequant_scale_q_nope:
      return DType::float32;
    case Id::cache_index:
      return DType::int64;
    default:
      return DType::bf16;
  }
}

// A null optional output stands in the lookup with the dtype that the modes give it (step 4).
DType given_dtype(const Call& call, Id id) noexcept {
  const TensorDesc& desc = call.problem[id];
  if (desc.present()) return desc.dtype;
  if (id == Id::query_norm) return call.scenario->weight_uq_qr;
  if (id == Id::dequant_scale_q_norm) return call.scenario->scale_dtype();
  return DType::float32;
}

bool takes_part(const Call& call, Id id) noexcept {
  const bool any_dtype = id == Id::kr_cache && call.relaxed() && call.scenario->per_tile();
  return !(any_dtype && call.problem.kr_cache.has_zero_elements());
}

constexpr bool is_nz_weight(Id id) noexcept {
  return id == Id::weight_dq || id == Id::weight_uq_qr || id == Id::weight_dkv_kr;
}

bool format_fits(const TensorDesc& desc, Id id) noexcept {
  if (!desc.present()) return true;
  return is_nz_weight(id) ? desc.format == Format::fractal_nz : is_taken_as_nd(desc.format);
}

// The dtypes of one call, of the tensors that take part.
struct Lookup {
  std::size_t count = 0;
  std::array<Id, kTensorsV3.size()> tensors;
  std::array<DType, kTensorsV3.size()> dtypes;

  explicit Lookup(const Call& call) noexcept {
    for (const Id id : tensors_of(call.api)) {
      if (!takes_part(call, id)) continue;
      tensors[count] = id;
      dtypes[count++] = given_dtype(call, id);
    }
  }
  bool fits(const Column& column) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (dtypes[i] != column_dtype(column, tensors[i])) return false;
    }
    return true;
  }
  std::size_t differences(const Column& column) const noexcept {
    std::size_t differences = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (dtypes[i] != column_dtype(column, tensors[i])) ++differences;
    }
    return differences;
  }
};

// One or two tables of columns.
struct Columns {
  std::span<const Column> first;
  std::span<const Column> second;
};

Columns columns_of(const Call& call) noexcept {
  if (call.api == ApiVersion::v1) return {std::span(kColumnsV2).first(kColumnsV2.size() - 1), {}};
  if (call.api == ApiVersion::v2) return {kColumnsV2, {}};
  if (call.relaxed()) return {kColumnsArch22, kColumnsArch35};
  if (call.world == World::arch35) return {kColumnsArch35, {}};
  return {kColumnsArch22, {}};
}

bool some_column_fits(const Columns& columns, const Lookup& lookup) noexcept {
  const auto fits = [&](const Column& column) { return lookup.fits(column); };
  return std::any_of(columns.first.begin(), columns.first.end(), fits) ||
         std::any_of(columns.second.begin(), columns.second.end(), fits);
}

const Column& nearest_column(const Columns& columns, const Lookup& lookup) noexcept {
  const Column* nearest = &columns.first.front();
  for (const auto table : {columns.first, columns.second}) {
    for (const Column& column : table) {
      if (lookup.differences(column) < lookup.differences(*nearest)) nearest = &column;
    }
  }
  return *nearest;
}

std::string name(Id id) { return std::string(to_string(id)); }

}  // namespace

Finding null_tensor(const Call& call) {
  for (const Id id : tensors_of(call.api)) {
    if (!is_optional_output(id) && !call.problem[id].present()) {
      return Violation{id, name(id) + " is null, must be given"};
    }
  }
  return std::nullopt;
}

Finding no_column(const Call& call) {
  for (const Id id : tensors_of(call.api)) {
    const TensorDesc& desc = call.problem[id];
    if (!format_fits(desc, id)) {
      return Violation{id, name(id) + " has format " + std::string(to_string(desc.format)) + ", must be " +
                               (is_nz_weight(id) ? "FRACTAL_NZ" : "ND")};
    }
  }
  const Lookup lookup(call);
  const Columns columns = columns_of(call);
  if (some_column_fits(columns, lookup)) return std::nullopt;

  const Column& nearest = nearest_column(columns, lookup);
  std::size_t i = 0;
  while (lookup.dtypes[i] == column_dtype(nearest, lookup.tensors[i])) ++i;
  const Id id = lookup.tensors[i];
  return Violation{id, name(id) + (call.problem[id].present() ? " is " : " is null and stands for ") +
                           std::string(to_string(lookup.dtypes[i])) + ", must be " +
                           std::string(to_string(column_dtype(nearest, id))) +
                           " in the supported combination of dtypes nearest to this call"};
}

bool has_nothing_to_do(const Call& call) noexcept {
  for (const Id id : tensors_of(call.api)) {
    if ((is_output(id) || is_cache(id)) && call.problem[id].present() && !call.problem[id].has_zero_elements()) {
      return false;
    }
  }
  return true;
}

Finding nothing_to_do(const Call& call) { return has_nothing_to_do(call) ? Finding(Violation{}) : std::nullopt; }

}  // namespace mla_prolog::phase_one
