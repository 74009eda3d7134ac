#include "runtime/backend/onednn/cost.hpp"

namespace mla_prolog::onednn {
namespace {

struct Measured {
  Type type;
  const char* implementation;
  std::int64_t from_tokens;  // until the next row of the same implementation
  double ratio;
};

// Means over the stages, against the avx512-vnni kernels. AMX was not at hand: it is taken when asked for by name.
constexpr Measured kMeasured[] = {
    {Type::s8, "brg:avx512_core_vnni", 1, 1.33},    {Type::s8, "brg:avx512_core_vnni", 2, 1.22},
    {Type::s8, "brg:avx512_core_vnni", 4, 1.04},    {Type::s8, "brg:avx512_core_vnni", 8, 1.20},
    {Type::s8, "brg:avx512_core_vnni", 16, 1.06},   {Type::s8, "brg:avx512_core_vnni", 32, 1.01},
    {Type::s8, "brg:avx512_core_vnni", 64, 0.97},   {Type::s8, "brg:avx512_core_vnni", 128, 0.98},
    {Type::bf16, "brg:avx512_core_bf16", 1, 1.60},  {Type::bf16, "brg:avx512_core_bf16", 2, 1.76},
    {Type::bf16, "brg:avx512_core_bf16", 4, 1.20},  {Type::bf16, "brg:avx512_core_bf16", 8, 1.07},
    {Type::bf16, "brg:avx512_core_bf16", 16, 0.79}, {Type::bf16, "brg:avx512_core_bf16", 32, 0.66},
    {Type::bf16, "brg:avx512_core_bf16", 64, 0.58}, {Type::bf16, "brg:avx512_core_bf16", 128, 0.52},
    {Type::f32, "brg:avx512_core", 1, 2.75},        {Type::f32, "brg:avx512_core", 2, 3.22},
    {Type::f32, "brg:avx512_core", 4, 1.94},        {Type::f32, "brg:avx512_core", 8, 1.94},
    {Type::f32, "brg:avx512_core", 16, 1.40},       {Type::f32, "brg:avx512_core", 32, 1.21},
    {Type::f32, "brg:avx512_core", 64, 1.10},       {Type::f32, "brg:avx512_core", 128, 1.01},
};

}  // namespace

std::optional<double> time_ratio(Type type, const std::string& implementation, std::int64_t tokens) {
  std::optional<double> ratio;
  for (const Measured& row : kMeasured) {
    if (row.type == type && row.implementation == implementation && row.from_tokens <= tokens) ratio = row.ratio;
  }
  return ratio;
}

bool may_be_faster(Type type, std::int64_t tokens) {
  for (const Measured& row : kMeasured) {
    if (row.type != type) continue;
    const std::optional<double> ratio = time_ratio(type, row.implementation, tokens);
    if (ratio && *ratio < kFaster) return true;
  }
  return false;
}

}  // namespace mla_prolog::onednn
