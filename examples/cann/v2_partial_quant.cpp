// The second version, int8 weightUqQr and int8 caches quantised per channel.
#include "aclnnop/aclnn_mla_prolog_v2_weight_nz.h"
#include "session.hpp"

using example::CacheMode;
using example::Session;
using example::Tensor;
using example::Workspace;

int main() {
  Session session;
  const int64_t he = 7168, hcq = 1536, hckv = 512, n = 32, d = 128, dr = 64;
  const Tensor token_x = Tensor::nd(ACL_BF16, {8, 1, he}).fill(1, 97);
  const Tensor weight_dq = Tensor::nz(ACL_BF16, he, hcq).fill(2, 61);
  const Tensor weight_uq_qr = Tensor::nz(ACL_INT8, hcq, n * (d + dr)).fill(3, 53);
  const Tensor weight_uk = Tensor::nd(ACL_BF16, {n, d, hckv}).fill(4, 59);
  const Tensor weight_dkv_kr = Tensor::nz(ACL_BF16, he, hckv + dr).fill(5, 67);
  const Tensor gamma_cq = Tensor::nd(ACL_BF16, {hcq}).fill(6, 31);
  const Tensor gamma_ckv = Tensor::nd(ACL_BF16, {hckv}).fill(7, 37);
  const Tensor rope_sin = Tensor::nd(ACL_BF16, {8, 1, dr}).fill(8, 41);
  const Tensor rope_cos = Tensor::nd(ACL_BF16, {8, 1, dr}).fill(9, 43);
  const Tensor cache_index = Tensor::nd(ACL_INT64, {8, 1}).count();
  const Tensor kv_cache = Tensor::nd(ACL_INT8, {16, 128, 1, hckv}).fill(10, 3);
  const Tensor kr_cache = Tensor::nd(ACL_INT8, {16, 128, 1, dr}).fill(11, 3);
  const Tensor dequant_scale_w_uq_qr = Tensor::nd(ACL_FLOAT, {1, n * (d + dr)}).fill(12, 29);
  const Tensor quant_scale_ckv = Tensor::nd(ACL_FLOAT, {1, hckv}).fill(13, 23);
  const Tensor quant_scale_ckr = Tensor::nd(ACL_FLOAT, {1, dr}).fill(14, 19);
  const Tensor smooth_scales_cq = Tensor::nd(ACL_FLOAT, {1, hcq}).fill(15, 17);
  const Tensor query = Tensor::nd(ACL_BF16, {8, 1, n, hckv});
  const Tensor query_rope = Tensor::nd(ACL_BF16, {8, 1, n, dr});

  CacheMode cache_mode("PA_BSND");
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  example::check(aclnnMlaPrologV2WeightNzGetWorkspaceSize(
                     token_x.get(), weight_dq.get(), weight_uq_qr.get(), weight_uk.get(), weight_dkv_kr.get(),
                     gamma_cq.get(), gamma_ckv.get(), rope_sin.get(), rope_cos.get(), cache_index.get(), kv_cache.get(),
                     kr_cache.get(), nullptr, nullptr, dequant_scale_w_uq_qr.get(), nullptr, quant_scale_ckv.get(),
                     quant_scale_ckr.get(), smooth_scales_cq.get(), 1e-5, 1e-5, cache_mode.get(), query.get(),
                     query_rope.get(), nullptr, &workspace_size, &executor),
                 "aclnnMlaPrologV2WeightNzGetWorkspaceSize");
  {
    const Workspace workspace(workspace_size);
    example::check(aclnnMlaPrologV2WeightNz(workspace.get(), workspace.size(), executor, session.stream()),
                   "aclnnMlaPrologV2WeightNz");
    example::check(aclrtSynchronizeStream(session.stream()), "aclrtSynchronizeStream");
  }
  example::print_sum("query", query);
  example::print_sum("query_rope", query_rope);
  example::print_sum("kv_cache", kv_cache);
  return 0;
}
