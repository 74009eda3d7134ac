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
    {Type::s8, "brg:avx512_core_vnni", 1, 1.36},    {Type::s8, "brg:avx512_core_vnni", 4, 1.06},
    {Type::s8, "brg:avx512_core_vnni", 16, 1.20},   {Type::s8, "brg:avx512_core_vnni", 32, 1.01},
    {Type::bf16, "brg:avx512_core_bf16", 1, 1.50},  {Type::bf16, "brg:avx512_core_bf16", 4, 1.02},
    {Type::bf16, "brg:avx512_core_bf16", 16, 0.75}, {Type::bf16, "brg:avx512_core_bf16", 32, 0.50},
    {Type::f32, "brg:avx512_core", 1, 2.00},        {Type::f32, "brg:avx512_core", 32, 1.10},
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
