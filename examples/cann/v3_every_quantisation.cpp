// The third version in every combination of quantisation modes that the device has: seven on Ascend 910B and 910_93,
// sixteen on 950.
#include <memory>

#include "aclnnop/aclnn_mla_prolog_v3_weight_nz.h"
#include "session.hpp"

using example::CacheMode;
using example::Session;
using example::Tensor;
using example::Workspace;

namespace {

const int64_t kTokens = 4, kHe = 1024, kHcq = 1536, kHckv = 512, kN = 2, kD = 128, kDr = 64, kBlocks = 1, kBlock = 16;

struct Modes {
  int64_t weight, kv_cache;
  aclDataType x, weight_uq_qr, kv_cache_type;
};

const Modes kModes[] = {
    {0, 0, ACL_BF16, ACL_BF16, ACL_BF16},
    {1, 0, ACL_BF16, ACL_INT8, ACL_BF16},
    {1, 2, ACL_BF16, ACL_INT8, ACL_INT8},
    {1, 3, ACL_BF16, ACL_INT8, ACL_INT8},
    {2, 0, ACL_INT8, ACL_INT8, ACL_BF16},
    {2, 1, ACL_INT8, ACL_INT8, ACL_INT8},
    {2, 3, ACL_INT8, ACL_INT8, ACL_INT8},
    {3, 0, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_BF16},
    {3, 1, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN},
    {3, 3, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN},
    {4, 0, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_BF16},
    {4, 1, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN},
    {4, 3, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN},
    {5, 0, ACL_HIFLOAT8, ACL_HIFLOAT8, ACL_BF16},
    {5, 1, ACL_HIFLOAT8, ACL_HIFLOAT8, ACL_HIFLOAT8},
    {5, 3, ACL_HIFLOAT8, ACL_HIFLOAT8, ACL_HIFLOAT8},
};

typedef std::unique_ptr<Tensor> Optional;

Optional given(bool wanted, aclDataType dtype, const std::vector<int64_t>& shape) {
  return Optional(wanted ? new Tensor(Tensor::nd(dtype, shape).fill(7, 23)) : nullptr);
}

aclTensor* handle(const Optional& tensor) { return tensor ? tensor->get() : nullptr; }

void run(const Session& session, const Modes& modes) {
  const bool mx = modes.weight == 3;
  const bool full = modes.weight >= 2;
  const bool per_tensor = modes.kv_cache == 1, per_channel = modes.kv_cache == 2, per_tile = modes.kv_cache == 3;
  const aclDataType scale = mx ? ACL_FLOAT8_E8M0 : ACL_FLOAT;
  // Per channel of a weight, or per 32 elements along K of each channel.
  const auto scale_shape = [&](int64_t k, int64_t n) {
    return mx ? std::vector<int64_t>{n, k / 32} : std::vector<int64_t>{1, n};
  };

  const Tensor token_x = Tensor::nd(modes.x, {kTokens, kHe}).fill(1, 97);
  const Tensor weight_dq = Tensor::nz(modes.x, kHe, kHcq).fill(2, 61);
  const Tensor weight_uq_qr = Tensor::nz(modes.weight_uq_qr, kHcq, kN * (kD + kDr)).fill(3, 53);
  const Tensor weight_uk = Tensor::nd(ACL_BF16, {kN, kD, kHckv}).fill(4, 59);
  const Tensor weight_dkv_kr = Tensor::nz(modes.x, kHe, kHckv + kDr).fill(5, 67);
  const Tensor gamma_cq = Tensor::nd(ACL_BF16, {kHcq}).fill(6, 31);
  const Tensor gamma_ckv = Tensor::nd(ACL_BF16, {kHckv}).fill(7, 37);
  const Tensor rope_sin = Tensor::nd(ACL_BF16, {kTokens, kDr}).fill(8, 41);
  const Tensor rope_cos = Tensor::nd(ACL_BF16, {kTokens, kDr}).fill(9, 43);
  const Tensor cache_index = Tensor::nd(ACL_INT64, {kTokens}).count();
  // A tile row holds 512 codes, 64 bf16 of k^R and four float scales; then there is nothing in the second cache.
  const Tensor kv_cache = Tensor::nd(modes.kv_cache_type, {kBlocks, kBlock, 1, per_tile ? 656 : kHckv}).fill(10, 3);
  const Tensor kr_cache =
      Tensor::nd(per_channel ? ACL_INT8 : ACL_BF16, {kBlocks, kBlock, 1, per_tile ? 0 : kDr}).fill(11, 3);
  const Optional scale_x = given(full, scale, {kTokens, mx ? kHe / 32 : 1});
  const Optional scale_w_dq = given(full, scale, scale_shape(kHe, kHcq));
  const Optional scale_w_uq_qr = given(modes.weight >= 1, scale, scale_shape(kHcq, kN * (kD + kDr)));
  const Optional scale_w_dkv_kr = given(full, scale, scale_shape(kHe, kHckv + kDr));
  const Optional scale_ckv = given(per_tensor || per_channel, ACL_FLOAT,
                                   per_tensor ? std::vector<int64_t>{1} : std::vector<int64_t>{1, kHckv});
  const Optional scale_ckr = given(per_channel, ACL_FLOAT, {1, kDr});
  const Optional clip_alpha = given(per_tile && modes.weight <= 2, ACL_FLOAT, {1});
  const Tensor query = Tensor::nd(per_tensor ? modes.x : ACL_BF16, {kTokens, kN, kHckv});
  const Tensor query_rope = Tensor::nd(ACL_BF16, {kTokens, kN, kDr});
  const Optional scale_q_nope = given(per_tensor, ACL_FLOAT, {kTokens, kN, 1});
  const Tensor query_norm = Tensor::nd(modes.weight_uq_qr, {kTokens, kHcq});
  const Optional scale_q_norm = given(modes.weight >= 1, scale, {kTokens, mx ? kHcq / 32 : 1});

  CacheMode cache_mode("PA_BSND");
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  example::check(
      aclnnMlaPrologV3WeightNzGetWorkspaceSize(
          token_x.get(), weight_dq.get(), weight_uq_qr.get(), weight_uk.get(), weight_dkv_kr.get(), gamma_cq.get(),
          gamma_ckv.get(), rope_sin.get(), rope_cos.get(), kv_cache.get(), kr_cache.get(), cache_index.get(),
          handle(scale_x), handle(scale_w_dq), handle(scale_w_uq_qr), handle(scale_w_dkv_kr), handle(scale_ckv),
          handle(scale_ckr), nullptr, nullptr, handle(clip_alpha), 1e-5, 1e-5, cache_mode.get(), modes.weight,
          modes.kv_cache, per_tensor, per_tile, per_tile, 128, 1.0, 1.0, query.get(), query_rope.get(),
          handle(scale_q_nope), query_norm.get(), handle(scale_q_norm), &workspace_size, &executor),
      "aclnnMlaPrologV3WeightNzGetWorkspaceSize");
  const Workspace workspace(workspace_size);
  example::check(aclnnMlaPrologV3WeightNz(workspace.get(), workspace.size(), executor, session.stream()),
                 "aclnnMlaPrologV3WeightNz");
  example::check(aclrtSynchronizeStream(session.stream()), "aclrtSynchronizeStream");
  std::printf("weight mode %d, cache mode %d\n", static_cast<int>(modes.weight), static_cast<int>(modes.kv_cache));
  example::print_sum("  query", query);
  example::print_sum("  kv_cache", kv_cache);
  example::print_sum("  query_norm", query_norm);
}

}  // namespace

int main() {
  const Session session;
  const char* soc = aclrtGetSocName();
  const bool has_fp8 = soc != nullptr && std::strncmp(soc, "Ascend950", 9) == 0;
  for (const Modes& modes : kModes) {
    if (modes.weight <= 2 || has_fp8) run(session, modes);
  }
  return 0;
}
