// The three MlaProlog operators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "aclnn/acl_meta.h"
#include "cann/runtime/checker.hpp"
#include "mla_prolog/problem.hpp"

namespace mla_prolog::cann::api {

/// How many tensors a version takes.
constexpr std::size_t tensor_count(ApiVersion version) {
  return version == ApiVersion::v3 ? kTensorCount : version == ApiVersion::v2 ? kTensorCount - 4 : kTensorCount - 5;
}

/// Arguments of a phase one, of whichever version.
struct MlaPrologCall {
  /// All tensors in the order of the version's parameters.
  template <ApiVersion kVersion, typename... Tensors>
  static MlaPrologCall of(const Tensors*... in_order) {
    static_assert(sizeof...(in_order) == tensor_count(kVersion));
    return {kVersion, std::array<const aclTensor*, sizeof...(in_order)>{in_order...}};
  }

  ApiVersion version;
  std::array<const aclTensor*, kTensorCount> tensors{};  ///< by TensorId
  double epsilon_cq = 0;
  double epsilon_ckv = 0;
  const char* cache_mode = nullptr;
  /// Of V3; the others' follow from dtypes.
  std::int64_t weight_quant_mode = 0;
  std::int64_t kv_cache_quant_mode = 0;
  std::int64_t query_quant_mode = 0;
  std::int64_t ckvkr_repo_mode = 0;
  std::int64_t quant_scale_repo_mode = 0;
  std::int64_t tile_size = 128;
  double qc_qr_scale = 1;
  double kc_scale = 1;

  const aclTensor*& operator[](TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  const aclTensor* operator[](TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }

 private:
  MlaPrologCall(ApiVersion of, std::span<const aclTensor* const> in_order);
};

aclnnStatus mla_prolog_phase_one(const Site& site, const MlaPrologCall& call, std::uint64_t* workspace_bytes,
                                 aclOpExecutor** executor) noexcept;
aclnnStatus mla_prolog_phase_two(const Site& site, ApiVersion version, void* workspace, std::uint64_t workspace_bytes,
                                 aclOpExecutor* executor, const void* stream) noexcept;

}  // namespace mla_prolog::cann::api
