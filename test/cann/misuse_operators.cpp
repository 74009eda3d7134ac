// Misuse of operators: their tensors, workspaces, executors, and when their results are there.
#include "aclnnop/aclnn_dynamic_quant.h"
#include "test/cann/misuse.hpp"
#include "test/cann/small_op.hpp"

namespace misuse {
namespace {

int host_tensor(bool wrong) {
  small_op::Op op;
  std::vector<char> host(op.token_x.bytes);
  if (wrong) {
    aclDestroyTensor(op.token_x.handle);
    aclrtFree(op.token_x.memory);
    op.token_x = small_op::make(ACL_BF16, {2, 1024}, ACL_FORMAT_ND, host.data());
  }
  op.phase_one();
  int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  if (wrong) op.token_x.memory = nullptr;
  return status != 0 ? status : later;
}

int null_data(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) aclSetInputTensorAddr(op.executor, 0, op.token_x.handle, nullptr);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int short_tensor(bool wrong) {
  small_op::Op op;
  const Memory small(op.query.bytes - 2);
  op.phase_one();
  if (wrong) aclSetOutputTensorAddr(op.executor, 0, op.query.handle, small.p);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int freed_tensor(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) {
    aclrtFree(op.rope_sin.memory);
    op.rope_sin.memory = nullptr;
  }
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int small_workspace(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const int status = aclnnMlaPrologV3WeightNz(op.workspace, op.workspace_bytes - (wrong ? 1 : 0), op.executor, stream);
  aclrtSynchronizeStream(stream);
  if (status != 0) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int small_workspace_memory(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const Memory small(static_cast<size_t>(op.workspace_bytes) / 2);
  const int status = aclnnMlaPrologV3WeightNz(wrong ? small.p : op.workspace, op.workspace_bytes, op.executor, stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int read_too_early(bool wrong) {
  small_op::Op op;
  op.phase_one();
  op.phase_two(stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  std::vector<char> host(op.query.bytes);
  const int status = aclrtMemcpy(host.data(), host.size(), op.query.memory, op.query.bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtSynchronizeStream(stream);
  return status;
}

int write_too_early(bool wrong) {
  small_op::Op op;
  std::vector<char> host(op.token_x.bytes);
  op.phase_one();
  op.phase_two(stream);
  if (!wrong) aclrtSynchronizeStream(stream);
  const int status = copy_in(op.token_x.memory, op.token_x.bytes, host.data(), host.size());
  aclrtSynchronizeStream(stream);
  return status;
}

int output_overlap(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (wrong) aclSetOutputTensorAddr(op.executor, 0, op.query.handle, op.weight_uk.memory);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  return status != 0 ? status : later;
}

int bad_index(bool wrong) {
  // Twice the same slot is legal.
  small_op::Op op(wrong ? std::vector<int64_t>{3, small_op::kBlocks * small_op::kBlockSize}
                        : std::vector<int64_t>{3, 3});
  const std::vector<unsigned char> before = op.read(op.kv_cache);
  op.phase_one();
  if (op.phase_two(stream) != 0) return -2;
  const int status = aclrtSynchronizeStream(stream);
  if (wrong && op.read(op.kv_cache) != before) return 0;
  return status;
}

int phase_one_only(small_op::Op& op) {
  const int status = op.phase_one();
  if (status == 0) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int negative_stride(bool wrong) {
  small_op::Op op;
  aclDestroyTensor(op.token_x.handle);
  // Both rows are the same memory, which is legal, or go backwards.
  const int64_t shape[] = {2, 1024}, strides[] = {wrong ? -1024 : 0, 1};
  op.token_x.handle = aclCreateTensor(shape, 2, ACL_BF16, strides, 0, ACL_FORMAT_ND, shape, 2, op.token_x.memory);
  return phase_one_only(op);
}

int negative_cache_stride(bool wrong) {
  small_op::Op op;
  aclDestroyTensor(op.kv_cache.handle);
  const int64_t shape[] = {2, 16, 1, 512}, strides[] = {wrong ? -8192 : 8192, 512, 512, 1};
  op.kv_cache.handle = aclCreateTensor(shape, 4, ACL_BF16, strides, 0, ACL_FORMAT_ND, shape, 4, op.kv_cache.memory);
  return phase_one_only(op);
}

int transposed_weight(bool wrong) {
  small_op::Op op;
  aclDestroyTensor(op.weight_dq.handle);
  const int64_t shape[] = {1024, 1536}, dense[] = {1536, 1}, transposed[] = {1, 1024}, storage[] = {96, 64, 16, 16};
  op.weight_dq.handle = aclCreateTensor(shape, 2, ACL_BF16, wrong ? transposed : dense, 0, ACL_FORMAT_FRACTAL_NZ,
                                        storage, 4, op.weight_dq.memory);
  return phase_one_only(op);
}

int negative_quant_stride(bool wrong) {
  const Memory x(256), y(128), scale(8);
  const int64_t shape[] = {2, 64}, strides[] = {wrong ? -64 : 64, 1};
  aclTensor* tensors[] = {aclCreateTensor(shape, 2, ACL_BF16, strides, 0, ACL_FORMAT_ND, shape, 2, x.p),
                          aclCreateTensor(shape, 2, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, shape, 2, y.p),
                          aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, scale.p)};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const int status = aclnnDynamicQuantGetWorkspaceSize(tensors[0], nullptr, tensors[1], tensors[2], &bytes, &executor);
  if (status == 0) aclDestroyAclOpExecutor(executor);
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
  return status;
}

int far_offset(bool wrong) {
  small_op::Op op;
  aclDestroyTensor(op.token_x.handle);
  const int64_t shape[] = {2, 1024};
  op.token_x.handle =
      aclCreateTensor(shape, 2, ACL_BF16, nullptr, wrong ? INT64_MIN : 0, ACL_FORMAT_ND, shape, 2, op.token_x.memory);
  op.phase_one();
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  if (status != 0) aclDestroyAclOpExecutor(op.executor);
  return status != 0 ? status : later;
}

int wrong_index(bool wrong) {
  small_op::Op op;
  op.phase_one();
  const int status = aclSetTensorAddr(op.executor, wrong ? 5 : 0, op.token_x.handle, op.token_x.memory);
  op.phase_two(stream);
  aclrtSynchronizeStream(stream);
  return status;
}

int executor_leak(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (!wrong) aclDestroyAclOpExecutor(op.executor);
  return wrong ? 1 : 0;
}

int tensor_leak(bool wrong) {
  const int64_t dim = 4;
  aclTensor* tensor = aclCreateTensor(&dim, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
  if (!wrong) aclDestroyTensor(tensor);
  return wrong ? 1 : 0;
}

int stale_tensor(bool wrong) {
  small_op::Op op;
  aclTensor* tensor = op.token_x.handle;
  if (wrong) aclDestroyTensor(tensor);
  const int status = op.phase_one();
  if (wrong) op.token_x.handle = nullptr;
  if (status == 0) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int executor_twice(bool wrong) {
  small_op::Op op;
  op.phase_one();
  if (!wrong) aclSetAclOpExecutorRepeatable(op.executor);
  op.phase_two(stream);
  const int status = op.phase_two(stream);
  aclrtSynchronizeStream(stream);
  if (!wrong) aclDestroyAclOpExecutor(op.executor);
  return status;
}

int garbage_executor(bool wrong) {
  small_op::Op op;
  op.phase_one();
  int local = 0;
  const int status = aclnnMlaPrologV3WeightNz(op.workspace, op.workspace_bytes,
                                              wrong ? reinterpret_cast<aclOpExecutor*>(&local) : op.executor, stream);
  aclrtSynchronizeStream(stream);
  if (wrong) aclDestroyAclOpExecutor(op.executor);
  return status;
}

}  // namespace

void end_with_work_queued() {
  constexpr size_t kBytes = size_t{64} << 20;
  void* p = nullptr;
  aclrtMalloc(&p, kBytes, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int i = 0; i < 5; ++i) aclrtMemsetAsync(p, kBytes, i, kBytes, stream);
  auto* op = new small_op::Op({9999});
  op->phase_one();
  op->phase_two(stream);
}

std::vector<Misuse> of_operators() {
  return {
      {"host_tensor", "host-pointer-as-device", host_tensor},
      {"null_data", "null-data", null_data},
      {"short_tensor", "tensor-out-of-bounds", short_tensor},
      {"freed_tensor", "use-after-free", freed_tensor},
      {"small_workspace", "workspace-too-small", small_workspace},
      {"small_workspace_memory", "workspace-too-small", small_workspace_memory},
      {"read_too_early", "unsynchronized-access", read_too_early},
      {"write_too_early", "unsynchronized-access", write_too_early},
      {"output_overlap", "output-overlap", output_overlap},
      {"bad_index", "bad-index", bad_index},
      {"negative_stride", "bad-strides", negative_stride},
      {"negative_cache_stride", "bad-strides", negative_cache_stride},
      {"negative_quant_stride", "bad-strides", negative_quant_stride},
      {"transposed_weight", "bad-strides", transposed_weight},
      {"far_offset", "host-pointer-as-device", far_offset},
      {"wrong_index", "invalid-handle", wrong_index},
      {"executor_leak", "leak", executor_leak},
      {"tensor_leak", "leak", tensor_leak},
      {"stale_tensor", "invalid-handle", stale_tensor},
      {"executor_twice", "executor-reused", executor_twice},
      {"garbage_executor", "invalid-handle", garbage_executor},
  };
}

}  // namespace misuse
