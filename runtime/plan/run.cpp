// The checks that need pointers and values, all of them before the first byte is written; then the executor.
#include <cstddef>
#include <cstdint>

#include "mla_prolog/plan.hpp"
#include "mla_prolog/prepare.hpp"
#include "runtime/cache/slots.hpp"
#include "runtime/plan/plan_data.hpp"
#include "runtime/plan/recording.hpp"
#include "runtime/problem/alignment.hpp"

namespace mla_prolog {
namespace {

struct Bytes {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

Bytes bytes_of(const TensorDesc& desc, const void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + desc.extent_bytes()};
}

// Two caches may lie block by block beside each other: equal block distances, and blocks that do not meet.
bool interleaved(const TensorDesc& a, const void* a_data, const TensorDesc& b, const void* b_data) {
  if (a.rank < 1 || b.rank < 1) return false;
  const auto stride = static_cast<std::uintptr_t>(a.strides[0]) * element_size(a.dtype);
  if (stride == 0 || stride != static_cast<std::uintptr_t>(b.strides[0]) * element_size(b.dtype)) return false;
  const auto block_bytes = [](const TensorDesc& desc) {
    TensorDesc block = desc;
    block.shape[0] = 1;
    return block.extent_bytes();
  };
  // Position of b's blocks within a's block distance.
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a_data);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b_data);
  const std::uintptr_t offset =
      b_begin >= a_begin ? (b_begin - a_begin) % stride : (stride - (a_begin - b_begin) % stride) % stride;
  return offset >= block_bytes(a) && offset + block_bytes(b) <= stride;
}

// Whether this call looks at an input: a clip factor that the scenario does not know is ignored, and without rows to
// write no index is read.
bool is_read(const Layer& layer, TensorId id) {
  switch (id) {
    case TensorId::cache_index:
    case TensorId::actual_seq_len:
      return layer.writes_cache();
    case TensorId::k_nope_clip_alpha:
      return layer.clips_tiles();
    default:
      return true;
  }
}

Status check_pointers(const detail::PlanData& plan, const Tensors& tensors) {
  for (const TensorId id : all_tensors()) {
    if (plan.problem[id].numel() == 0 || !is_read(plan.layer, id)) continue;
    if (tensors.get(id) == nullptr) {
      return {.code = StatusCode::param_nullptr, .rule = Rule::pointer_null, .tensor = id};
    }
    const std::size_t past = misalignment(plan.problem[id], tensors.get(id));
    if (past != 0) {
      return {.code = StatusCode::param_invalid,
              .rule = Rule::pointer_misaligned,
              .tensor = id,
              .value = static_cast<std::int64_t>(past),
              .limit = static_cast<std::int64_t>(required_alignment(plan.problem[id]))};
    }
  }
  return {};
}

Status check_overlap(const detail::PlanData& plan, const Tensors& tensors) {
  for (const TensorId written : all_tensors()) {
    if (!is_output(written) && !is_cache(written)) continue;
    const TensorDesc& written_desc = plan.problem[written];
    if (written_desc.numel() == 0) continue;
    const Bytes written_bytes = bytes_of(written_desc, tensors.get(written));
    for (const TensorId other : all_tensors()) {
      const TensorDesc& other_desc = plan.problem[other];
      if (other == written || other_desc.numel() == 0 || !is_read(plan.layer, other)) continue;
      if (!written_bytes.meets(bytes_of(other_desc, tensors.get(other)))) continue;
      if (is_cache(written) && is_cache(other) &&
          interleaved(written_desc, tensors.get(written), other_desc, tensors.get(other))) {
        continue;
      }
      return {.code = StatusCode::param_invalid, .rule = Rule::tensors_overlap, .tensor = written, .other = other};
    }
  }
  return {};
}

// The workspace is written, too.
Status check_workspace_overlap(const detail::PlanData& plan, const Tensors& tensors, const void* workspace) {
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace);
  const Bytes workspace_bytes{begin, begin + plan.workspace_bytes};
  for (const TensorId id : all_tensors()) {
    if (plan.problem[id].numel() == 0 || !is_read(plan.layer, id)) continue;
    if (!workspace_bytes.meets(bytes_of(plan.problem[id], tensors.get(id)))) continue;
    return {.code = StatusCode::param_invalid, .rule = Rule::tensors_overlap, .other = id, .parameter = "workspace"};
  }
  return {};
}

Status check_workspace(const detail::PlanData& plan, const void* workspace, std::size_t bytes) {
  if (plan.workspace_bytes == 0) return {};
  if (workspace == nullptr) {
    return {.code = StatusCode::param_nullptr,
            .rule = Rule::workspace_null,
            .limit = static_cast<std::int64_t>(plan.workspace_bytes)};
  }
  if (bytes < plan.workspace_bytes) {
    return {.code = StatusCode::param_invalid,
            .rule = Rule::workspace_too_small,
            .value = static_cast<std::int64_t>(bytes),
            .limit = static_cast<std::int64_t>(plan.workspace_bytes)};
  }
  const std::uintptr_t misalignment = reinterpret_cast<std::uintptr_t>(workspace) % Plan::kWorkspaceAlignment;
  if (misalignment != 0) {
    return {.code = StatusCode::param_invalid,
            .rule = Rule::workspace_misaligned,
            .value = static_cast<std::int64_t>(misalignment),
            .limit = static_cast<std::int64_t>(Plan::kWorkspaceAlignment)};
  }
  return {};
}

SlotMap slot_map(const Layer& layer, const Tensors& tensors) {
  return {.mode = layer.cache_mode,
          .tokens = layer.tokens,
          .seq = layer.seq,
          .block_num = layer.block_num,
          .block_size = layer.block_size,
          .table_entries = layer.cache_index_entries,
          .sequences = layer.sequences,
          .cache_index = static_cast<const std::int64_t*>(tensors.cache_index),
          .actual_seq_len = static_cast<const std::int32_t*>(tensors.actual_seq_len)};
}

Status check_prepared(const detail::PlanData& plan, const onednn::PreparedMatrices* prepared) {
  const onednn::Stages* engines = plan.executor == nullptr ? nullptr : plan.executor->engines();
  const bool fine = prepared == nullptr ? !plan.needs_prepared : engines != nullptr && prepared->fits(*engines);
  if (fine) return {};
  return {.code = StatusCode::param_invalid, .rule = Rule::weights_not_prepared};
}

Status run_checked(const detail::PlanData& data, const onednn::PreparedMatrices* prepared, const Tensors& tensors,
                   void* workspace, std::size_t workspace_bytes, Recorder* recorder) noexcept {
  if (data.executor == nullptr && data.device == nullptr) return {};
  Status status = check_workspace(data, workspace, workspace_bytes);
  if (status.ok()) status = check_prepared(data, prepared);
  if (status.ok()) status = check_pointers(data, tensors);
  if (status.ok()) status = check_overlap(data, tensors);
  if (status.ok()) status = check_workspace_overlap(data, tensors, workspace);
  if (!status.ok()) return status;

  auto* bytes = static_cast<std::byte*>(workspace);
  const std::int64_t* slots = nullptr;
  if (data.resolves_slots) {
    auto* scratch = reinterpret_cast<std::int64_t*>(bytes);
    status = resolve_slots(slot_map(data.layer, tensors), scratch);
    if (!status.ok()) return status;
    slots = scratch;
  }
  if (data.device != nullptr) return data.device->run(tensors);
  if (recorder != nullptr) {
    data.executor->execute_recorded(tensors, slots, bytes + data.slot_bytes, prepared, *recorder);
  } else {
    data.executor->execute(tensors, slots, bytes + data.slot_bytes, prepared);
  }
  return {};
}

Status run_recorded(const Plan& plan, const onednn::PreparedMatrices* prepared, const Tensors& tensors, void* workspace,
                    std::size_t workspace_bytes, Recording& recording) noexcept {
  Recording::Impl& impl = recording.impl();
  const auto begin = Recorder::Clock::now();
  const Status status = run_checked(plan.data(), prepared, tensors, workspace, workspace_bytes, impl.recorder.get());
  impl.elapsed = Recorder::Clock::now() - begin;
  return status;
}

}  // namespace

Status run(const Plan& plan, const Tensors& tensors, void* workspace, std::size_t workspace_bytes) noexcept {
  return run_checked(plan.data(), nullptr, tensors, workspace, workspace_bytes, nullptr);
}

Status run(const Plan& plan, const PreparedWeights& weights, const Tensors& tensors, void* workspace,
           std::size_t workspace_bytes) noexcept {
  return run_checked(plan.data(), weights.data(), tensors, workspace, workspace_bytes, nullptr);
}

Status run(const Plan& plan, const Tensors& tensors, void* workspace, std::size_t workspace_bytes,
           Recording& recording) noexcept {
  return run_recorded(plan, nullptr, tensors, workspace, workspace_bytes, recording);
}

Status run(const Plan& plan, const PreparedWeights& weights, const Tensors& tensors, void* workspace,
           std::size_t workspace_bytes, Recording& recording) noexcept {
  return run_recorded(plan, weights.data(), tensors, workspace, workspace_bytes, recording);
}

}  // namespace mla_prolog
