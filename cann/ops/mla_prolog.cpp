#include "cann/ops/mla_prolog.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "cann/meta/buffer_pool.hpp"
#include "cann/meta/executor.hpp"
#include "cann/ops/staging.hpp"
#include "cann/runtime/runtime.hpp"
#include "mla_prolog/plan.hpp"

namespace mla_prolog::cann {
namespace {

constexpr std::array<const char*, 3> kPhaseTwoNames{"aclnnMlaProlog", "aclnnMlaPrologV2WeightNz",
                                                    "aclnnMlaPrologV3WeightNz"};

const char* family_of(ApiVersion version) { return kPhaseTwoNames[static_cast<std::size_t>(version)]; }

/// The C interface's names of the tensors, for messages.
constexpr std::array<const char*, kTensorCount> kParameterNames{"tokenX",
                                                                "weightDq",
                                                                "weightUqQr",
                                                                "weightUk",
                                                                "weightDkvKr",
                                                                "rmsnormGammaCq",
                                                                "rmsnormGammaCkv",
                                                                "ropeSin",
                                                                "ropeCos",
                                                                "kvCacheRef",
                                                                "krCacheRef",
                                                                "cacheIndex",
                                                                "dequantScaleX",
                                                                "dequantScaleWDq",
                                                                "dequantScaleWUqQr",
                                                                "dequantScaleWDkvKr",
                                                                "quantScaleCkv",
                                                                "quantScaleCkr",
                                                                "smoothScalesCq",
                                                                "actualSeqLen",
                                                                "kNopeClipAlpha",
                                                                "queryOut",
                                                                "queryRopeOut",
                                                                "dequantScaleQNopeOut",
                                                                "queryNormOut",
                                                                "dequantScaleQNormOut"};

/// A version's tensors in the order of its parameters.
struct ParameterOrder {
  std::array<TensorId, kTensorCount> ids{};
  std::size_t count = 0;

  constexpr explicit ParameterOrder(ApiVersion version) {
    // V1 and V2 have cacheIndex before the caches, and fewer tensors.
    const bool newest = version == ApiVersion::v3;
    for (std::size_t i = 0; i < kTensorCount; ++i) {
      const auto id = static_cast<TensorId>(i);
      const bool left_out = id == TensorId::cache_index || id == TensorId::actual_seq_len ||
                            id == TensorId::k_nope_clip_alpha || id == TensorId::query_norm ||
                            id == TensorId::dequant_scale_q_norm ||
                            (version == ApiVersion::v1 && id == TensorId::dequant_scale_q_nope);
      if (!newest && id == TensorId::kv_cache) ids[count++] = TensorId::cache_index;
      if (newest || !left_out) ids[count++] = id;
    }
  }
  constexpr std::span<const TensorId> span() const { return {ids.data(), count}; }
};
static_assert(ParameterOrder(ApiVersion::v1).count == api::tensor_count(ApiVersion::v1));
static_assert(ParameterOrder(ApiVersion::v2).count == api::tensor_count(ApiVersion::v2));
static_assert(ParameterOrder(ApiVersion::v3).count == api::tensor_count(ApiVersion::v3));

std::span<const TensorId> parameter_order(ApiVersion version) {
  static constexpr std::array kOrders{ParameterOrder(ApiVersion::v1), ParameterOrder(ApiVersion::v2),
                                      ParameterOrder(ApiVersion::v3)};
  return kOrders[static_cast<std::size_t>(version)].span();
}

Problem describe_call(const api::MlaPrologCall& call) {
  Problem problem;
  for (const TensorId id : all_tensors()) problem[id] = describe_tensor(call[id]);
  Attributes& a = problem.attributes;
  a.rmsnorm_epsilon_cq = call.epsilon_cq;
  a.rmsnorm_epsilon_ckv = call.epsilon_ckv;
  a.tile_size = call.tile_size;
  a.qc_qr_scale = call.qc_qr_scale;
  a.kc_scale = call.kc_scale;
  if (call.version == ApiVersion::v3) {
    a.cache_mode = call.cache_mode == nullptr ? "PA_BSND" : call.cache_mode;
    a.weight_quant_mode = call.weight_quant_mode;
    a.kv_cache_quant_mode = call.kv_cache_quant_mode;
    a.query_quant_mode = call.query_quant_mode;
    a.ckvkr_repo_mode = call.ckvkr_repo_mode;
    a.quant_scale_repo_mode = call.quant_scale_repo_mode;
    return problem;
  }
  a.cache_mode = call.cache_mode == nullptr ? "BNSD" : call.cache_mode;
  const bool int8_cache = problem.kv_cache.dtype == DType::int8;
  if (problem.token_x.dtype == DType::int8) {
    a.weight_quant_mode = 2;
    a.kv_cache_quant_mode = int8_cache ? 1 : 0;
  } else if (problem.weight_uq_qr.dtype == DType::int8) {
    a.weight_quant_mode = 1;
    a.kv_cache_quant_mode = int8_cache ? 2 : 0;
  }
  a.query_quant_mode = a.kv_cache_quant_mode == 1 ? 1 : 0;
  return problem;
}

/// The accepted call in the terms of a plan: formats that mean ND, and what V1 and V2 take and V3 does not.
void adapt(Problem& problem, ApiVersion version) {
  constexpr std::array kMeanNd{Format::nchw, Format::nhwc, Format::ncdhw, Format::dhwcn, Format::ncl};
  for (const TensorId id : all_tensors()) {
    Format& format = problem[id].format;
    if (std::find(kMeanNd.begin(), kMeanNd.end(), format) != kMeanNd.end()) format = Format::nd;
  }
  if (version == ApiVersion::v3) return;
  if (problem.attributes.kv_cache_quant_mode == 1) {
    // One value, given 512 times.
    problem.quant_scale_ckv = TensorDesc::dense(DType::float32, {1});
  } else {
    problem.dequant_scale_q_nope = {};
  }
}

/// Whether the view's memory is dense from the second dimension on and its first dimension's steps do not overlap.
bool is_dense_after_first(const TensorDesc& desc) {
  TensorDesc rest = desc;
  if (desc.rank < 1) return true;
  rest.strides[0] = densified(desc).strides[0];
  return rest.is_dense() && desc.strides[0] >= rest.strides[0];
}

/// A view that must be copied to be computed on, and for caches copied back.
struct Staged {
  TensorId id = TensorId::none;
  TensorDesc view;
  std::size_t offset = 0;  ///< in the staging buffer
};

class MlaPrologOperation final : public Operation {
 public:
  MlaPrologOperation(const Plan& plan, std::vector<Staged> staged, std::size_t staging_bytes)
      : plan_(plan), staged_(std::move(staged)), staging_(staging_bytes) {
    // A caller's workspace of any alignment does when it is large enough.
    const std::size_t need = plan_.workspace_bytes();
    if (need + Plan::kWorkspaceAlignment > plan_.cann_workspace_bytes()) scratch_ = Buffer(need);
  }

  std::span<const TensorId> order;  ///< tensor of each operand

  int run(const Launch& launch, std::string& error) override {
    Tensors tensors;
    for (std::size_t i = 0; i < order.size(); ++i) tensors.set(order[i], launch.data[i]);
    for (const Staged& staged : staged_) {
      void* dense = staging_.data() + staged.offset;
      gather(staged.view, tensors.get(staged.id), dense);
      tensors.set(staged.id, dense);
    }
    void* workspace = scratch_.data();
    if (workspace == nullptr) {
      const auto address = reinterpret_cast<std::uintptr_t>(launch.workspace);
      workspace = reinterpret_cast<void*>((address + Plan::kWorkspaceAlignment - 1) / Plan::kWorkspaceAlignment *
                                          Plan::kWorkspaceAlignment);
    }
    const auto start = std::chrono::steady_clock::now();
    Status status = mla_prolog::run(plan_, tensors, workspace, plan_.workspace_bytes());
    if (status.rule == Rule::tensors_overlap && !report(Finding::output_overlap, launch.site, message(status))) {
      status = run_apart(tensors);
    }
    if (settings().verbose > 0) tell(launch.site, std::chrono::steady_clock::now() - start, status);
    if (!status.ok()) return failed(launch.site, status, error);
    for (const Staged& staged : staged_) {
      if (!is_cache(staged.id)) continue;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == staged.id) scatter(staged.view, staging_.data() + staged.offset, launch.data[i]);
      }
    }
    return ACL_SUCCESS;
  }

 private:
  /// Tensors overlap. A device computes something then; what, depends on timing. Here it is what the call computes with
  /// tensors that lie apart, whose outputs then go where they belong, the later over the earlier.
  Status run_apart(const Tensors& tensors) const {
    Tensors apart = tensors;
    std::vector<std::pair<TensorId, std::vector<std::byte>>> written;
    for (const TensorId id : all_tensors()) {
      const TensorDesc& desc = plan_.problem()[id];
      if (!(is_output(id) || is_cache(id)) || desc.numel() == 0) continue;
      auto& [tensor, bytes] = written.emplace_back(id, std::vector<std::byte>(desc.extent_bytes()));
      copy_view(desc, tensors.get(tensor), bytes.data());
      apart.set(tensor, bytes.data());
    }
    const Buffer workspace(plan_.workspace_bytes());
    const Status status = mla_prolog::run(plan_, apart, workspace.data(), workspace.size());
    if (!status.ok()) return status;
    // Outputs and caches are what tensors.get() may write through.
    for (const auto& [id, bytes] : written) {
      copy_view(plan_.problem()[id], bytes.data(), const_cast<void*>(tensors.get(id)));
    }
    return status;
  }

  static int failed(const Site& site, const Status& status, std::string& error) {
    error = std::string(site.function) + ": " + message(status);
    const bool bad_index = status.rule == Rule::cache_index_range || status.rule == Rule::block_table_too_short ||
                           status.rule == Rule::prefix_sum_decreasing;
    if (bad_index) report(Finding::bad_index, site, message(status));
    return ACL_ERROR_RT_AICORE_EXCEPTION;
  }

  void tell(const Site& site, std::chrono::steady_clock::duration duration, const Status& status) const {
    const Problem& problem = plan_.problem();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
    note(std::string(site.function) + ": token_x " + problem.token_x.to_string() + ", w" +
         std::to_string(problem.attributes.weight_quant_mode) + "kv" +
         std::to_string(problem.attributes.kv_cache_quant_mode) + ", " + problem.attributes.cache_mode + ", " +
         std::string(to_string(plan_.isa())) + ", " + std::to_string(us) + " us" +
         (status.ok() ? "" : ", failed: " + message(status)));
  }

  Plan plan_;
  std::vector<Staged> staged_;
  Buffer staging_;
  Buffer scratch_;
};

/// Whether a tensor's strides are looked at: outputs are taken as dense, and so are the caches of a 950's V3.
bool has_strides(TensorId id, ApiVersion version) {
  return !is_output(id) && !(is_cache(id) && version == ApiVersion::v3 && settings().soc == Soc::ascend950);
}

/// Makes the problem's tensors ones that a plan takes; returns what must be staged for that.
std::vector<Staged> stage_views(Problem& problem, ApiVersion version, std::size_t& bytes) {
  std::vector<Staged> staged;
  for (const TensorId id : all_tensors()) {
    TensorDesc& desc = problem[id];
    if (!desc.present() || desc.is_dense()) continue;
    const TensorDesc view = desc;
    const bool strided = has_strides(id, version);
    if (is_cache(id) && strided && is_dense_after_first(desc)) continue;
    desc = densified(view);
    if (!strided || view.numel() == 0) continue;
    staged.push_back({id, view, bytes});
    bytes += (desc.extent_bytes() + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  }
  return staged;
}

/// Bytes that a launch touches at a tensor's address.
std::size_t touched_bytes(const Problem& problem, const std::vector<Staged>& staged, TensorId id) {
  for (const Staged& s : staged) {
    if (s.id == id) return s.view.extent_bytes();
  }
  return problem[id].extent_bytes();
}

/// V1 and V2 say once for each function that they are about to go.
void tell_deprecation(const Site& site, ApiVersion version, bool phase_one) {
  if (version == ApiVersion::v3 || settings().check == CheckLevel::off) return;
  static std::array<std::atomic<bool>, 4> told{};
  const std::size_t index = (version == ApiVersion::v1 ? 0U : 2U) + (phase_one ? 0U : 1U);
  if (told[index].exchange(true)) return;
  note(std::string("warning: ") + site.function +
       " is deprecated and will be removed in December 2026; use aclnnMlaPrologV3WeightNz");
}

int refuse_version(const Site& site, ApiVersion version) {
  return refuse(site, ACLNN_ERR_RUNTIME_ERROR,
                std::string(family_of(version)) + " does not exist on " + settings().soc_name);
}

}  // namespace

namespace api {

MlaPrologCall::MlaPrologCall(ApiVersion of, std::span<const aclTensor* const> in_order) : version(of) {
  auto tensor = in_order.begin();
  for (const TensorId id : parameter_order(of)) (*this)[id] = *tensor++;
}

aclnnStatus mla_prolog_phase_one(const Site& site, const MlaPrologCall& call, std::uint64_t* workspace_bytes,
                                 aclOpExecutor** result) noexcept {
  return guarded([&]() -> int {
    tell_deprecation(site, call.version, true);
    for (const TensorId id : all_tensors()) {
      if (const int status = check_tensor(site, kParameterNames[static_cast<std::size_t>(id)], call[id])) return status;
    }
    Problem problem = describe_call(call);
    const CheckReport checked = check(problem, {Domain::strict, settings().soc, call.version});
    const bool before_pointers = checked.code == StatusCode::runtime_error ||
                                 checked.code == StatusCode::mode_refused || checked.code == StatusCode::param_nullptr;
    if (!before_pointers && (result == nullptr || workspace_bytes == nullptr)) {
      return refuse(site, ACLNN_ERR_PARAM_NULLPTR, result == nullptr ? "executor is null" : "workspaceSize is null");
    }
    if (checked.code != StatusCode::success) return refuse(site, static_cast<int>(checked.code), checked.message);

    NewExecutor executor = make_executor(site, family_of(call.version), checked.cann_workspace_bytes);
    // Without tokens no byte is written, whatever else the call says.
    if (checked.cann_workspace_bytes > 0 && problem.token_x.numel() > 0) {
      adapt(problem, call.version);
      for (const TensorId id : all_tensors()) {
        if (!has_strides(id, call.version)) continue;
        const std::string wrong = refuse_strides(kParameterNames[static_cast<std::size_t>(id)], problem[id]);
        if (wrong.empty()) continue;
        report(Finding::bad_strides, site, wrong);
        return ACLNN_ERR_PARAM_INVALID;
      }
      std::size_t staging_bytes = 0;
      std::vector<Staged> staged = stage_views(problem, call.version, staging_bytes);
      Result<Plan> plan =
          make_plan(problem, {.domain = Domain::relaxed, .profile = device_profile(), .threads = settings().threads});
      if (!plan.ok()) return refuse(site, static_cast<int>(plan.error().status.code), plan.error().message);
      const auto order = parameter_order(call.version);
      for (const TensorId id : order) {
        executor->add(make_operand(call[id], kParameterNames[static_cast<std::size_t>(id)],
                                   touched_bytes(problem, staged, id), !is_output(id), is_output(id) || is_cache(id)));
      }
      try {
        auto operation = std::make_unique<MlaPrologOperation>(*plan, std::move(staged), staging_bytes);
        operation->order = order;
        executor->operation = std::move(operation);
      } catch (const std::bad_alloc&) {
        return refuse(site, ACLNN_ERR_INNER_CREATE_EXECUTOR, "the host has no memory for the executor's buffers");
      }
    }
    *workspace_bytes = checked.cann_workspace_bytes;
    *result = executor.release();
    return ACLNN_SUCCESS;
  });
}

aclnnStatus mla_prolog_phase_two(const Site& site, ApiVersion version, void* workspace, std::uint64_t workspace_bytes,
                                 aclOpExecutor* executor, const void* stream) noexcept {
  return guarded([&]() -> int {
    tell_deprecation(site, version, false);
    if (version != ApiVersion::v3 && settings().soc == Soc::ascend950) return refuse_version(site, version);
    return launch(site, family_of(version), workspace, workspace_bytes, executor, stream);
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
