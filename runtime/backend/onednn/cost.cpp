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
    {Type::s8, "brg:avx512_core_vnni", 1, 1.40},     {Type::s8, "brg:avx512_core_vnni", 2, 1.20},
    {Type::s8, "brg:avx512_core_vnni", 4, 1.08},     {Type::s8, "brg:avx512_core_vnni", 8, 1.13},
    {Type::s8, "brg:avx512_core_vnni", 16, 1.17},    {Type::s8, "brg:avx512_core_vnni", 32, 1.08},
    {Type::s8, "brg:avx512_core_vnni", 64, 1.02},    {Type::s8, "brg:avx512_core_vnni", 128, 1.00},
    {Type::bf16, "brg:avx512_core_bf16", 1, 1.52},   {Type::bf16, "brg:avx512_core_bf16", 4, 1.32},
    {Type::bf16, "brg:avx512_core_bf16", 8, 1.36},   {Type::bf16, "brg:avx512_core_bf16", 16, 0.98},
    {Type::bf16, "brg:avx512_core_bf16", 32, 0.68},  {Type::bf16, "brg:avx512_core_bf16", 64, 0.55},
    {Type::bf16, "brg:avx512_core_bf16", 128, 0.53}, {Type::f32, "brg:avx512_core", 1, 2.80},
    {Type::f32, "brg:avx512_core", 8, 2.40},         {Type::f32, "brg:avx512_core", 16, 1.75},
    {Type::f32, "brg:avx512_core", 32, 1.22},        {Type::f32, "brg:avx512_core", 64, 1.06},
    {Type::f32, "brg:avx512_core", 128, 1.03},
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
