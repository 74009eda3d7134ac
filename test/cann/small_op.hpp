// The smallest call of the operator that does everything: bf16, one head, hidden size 1024. Links the libraries.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_mla_prolog_v3_weight_nz.h"

namespace small_op {

constexpr int64_t kBlocks = 2;
constexpr int64_t kBlockSize = 16;

struct Tensor {
  void* memory = nullptr;
  size_t bytes = 0;
  aclTensor* handle = nullptr;
};

inline Tensor make(aclDataType dtype, const std::vector<int64_t>& shape, aclFormat format, void* memory = nullptr) {
  Tensor tensor;
  tensor.bytes = aclDataTypeSize(dtype);
  for (int64_t dim : shape) tensor.bytes *= static_cast<size_t>(dim);
  tensor.memory = memory;
  if (memory == nullptr && tensor.bytes > 0) {
    aclrtMalloc(&tensor.memory, tensor.bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    std::vector<unsigned char> host(tensor.bytes);
    // bf16 0.25 everywhere; as indices this would be wrong, those are written by their user.
    for (size_t i = 1; i < host.size(); i += 2) host[i] = 0x3E;
    for (size_t i = 0; i < host.size(); i += 2) host[i] = 0x80;
    aclrtMemcpy(tensor.memory, tensor.bytes, host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  }
  tensor.handle =
      aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, format, shape.data(), shape.size(), tensor.memory);
  return tensor;
}

class Op {
 public:
  /// A token for each slot.
  explicit Op(const std::vector<int64_t>& slots = {3, 20}) {
    const int64_t tokens = static_cast<int64_t>(slots.size());
    const auto nd = [](std::vector<int64_t> shape) { return make(ACL_BF16, shape, ACL_FORMAT_ND); };
    const auto nz = [](int64_t k, int64_t n) {
      return make(ACL_BF16, {n / 16, k / 16, 16, 16}, ACL_FORMAT_FRACTAL_NZ);
    };
    token_x = nd({tokens, 1024});
    weight_dq = nz(1024, 1536);
    weight_uq_qr = nz(1536, 192);
    weight_uk = nd({1, 128, 512});
    weight_dkv_kr = nz(1024, 576);
    gamma_cq = nd({1536});
    gamma_ckv = nd({512});
    rope_sin = nd({tokens, 64});
    rope_cos = nd({tokens, 64});
    kv_cache = nd({kBlocks, kBlockSize, 1, 512});
    kr_cache = nd({kBlocks, kBlockSize, 1, 64});
    cache_index = make(ACL_INT64, {tokens}, ACL_FORMAT_ND);
    set_slots(slots);
    query = nd({tokens, 1, 512});
    query_rope = nd({tokens, 1, 64});
  }
  ~Op() {
    for (Tensor* tensor : all()) {
      aclDestroyTensor(tensor->handle);
      if (tensor->memory != nullptr) aclrtFree(tensor->memory);
    }
    if (workspace != nullptr) aclrtFree(workspace);
  }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  void set_slots(const std::vector<int64_t>& slots) {
    aclrtMemcpy(cache_index.memory, cache_index.bytes, slots.data(), slots.size() * sizeof(int64_t),
                ACL_MEMCPY_HOST_TO_DEVICE);
  }

  aclnnStatus phase_one() {
    char mode[] = "PA_BSND";
    const aclnnStatus status = aclnnMlaPrologV3WeightNzGetWorkspaceSize(
        token_x.handle, weight_dq.handle, weight_uq_qr.handle, weight_uk.handle, weight_dkv_kr.handle, gamma_cq.handle,
        gamma_ckv.handle, rope_sin.handle, rope_cos.handle, kv_cache.handle, kr_cache.handle, cache_index.handle,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1e-5, 1e-5, mode, 0, 0, 0, 0,
        0, 128, 1.0, 1.0, query.handle, query_rope.handle, nullptr, nullptr, nullptr, &workspace_bytes, &executor);
    if (status == 0 && workspace == nullptr) aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    return status;
  }
  aclnnStatus phase_two(aclrtStream stream) {
    return aclnnMlaPrologV3WeightNz(workspace, workspace_bytes, executor, stream);
  }

  std::vector<unsigned char> read(const Tensor& tensor) const {
    std::vector<unsigned char> host(tensor.bytes);
    aclrtMemcpy(host.data(), host.size(), tensor.memory, tensor.bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    return host;
  }

  std::vector<Tensor*> all() {
    return {&token_x,  &weight_dq, &weight_uq_qr, &weight_uk, &weight_dkv_kr, &gamma_cq, &gamma_ckv,
            &rope_sin, &rope_cos,  &kv_cache,     &kr_cache,  &cache_index,   &query,    &query_rope};
  }

  Tensor token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, gamma_cq, gamma_ckv, rope_sin, rope_cos, kv_cache,
      kr_cache, cache_index, query, query_rope;
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
};

}  // namespace small_op
