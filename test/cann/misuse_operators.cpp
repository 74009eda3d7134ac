// Misuse of operators: their tensors, workspaces, executors, and when their results are there.
#include <algorithm>
#include <cstring>

#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_npu_format_cast.h"
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

/// Writes an output to memory that the call uses otherwise. The results must be those of tensors that lie apart.
int overlap(small_op::Op& op, size_t index, small_op::Tensor& output, void* memory) {
  op.phase_one();
  op.phase_two(stream);
  aclrtSynchronizeStream(stream);
  const std::vector<unsigned char> query = op.read(op.query);
  std::vector<unsigned char> expected = op.read(output);
  small_op::Tensor there = output;
  there.memory = memory;

  op.phase_one();
  aclSetOutputTensorAddr(op.executor, index, output.handle, memory);
  const int status = op.phase_two(stream);
  const int later = aclrtSynchronizeStream(stream);
  if (status != 0 || later != 0) return status != 0 ? status : later;
  if (op.read(there) != expected) return -3;
  // Of outputs that overlap each other the later wins.
  expected.resize(query.size());
  std::copy(query.begin() + static_cast<long>(output.bytes), query.end(),
            expected.begin() + static_cast<long>(output.bytes));
  return memory == op.query.memory && op.read(op.query) != expected ? -4 : 0;
}

int output_overlap(bool wrong) {
  small_op::Op op;
  return overlap(op, 0, op.query, wrong ? op.weight_uk.memory : op.query.memory);
}

int outputs_overlap(bool wrong) {
  small_op::Op op;
  return overlap(op, 1, op.query_rope, wrong ? op.query.memory : op.query_rope.memory);
}

int cache_overlap(bool wrong) {
  small_op::Op op;
  return overlap(op, 0, op.query, wrong ? op.kv_cache.memory : op.query.memory);
}

int workspace_overlap(bool wrong) {
  small_op::Op op;
  op.phase_one();
  aclDestroyAclOpExecutor(op.executor);
  return overlap(op, 0, op.query, wrong ? op.workspace : op.query.memory);
}

/// Of rising numbers, to where they are or to memory of its own.
int format_cast_overlap(bool wrong) {
  std::vector<uint16_t> host(32 * 32), expected(host.size());
  for (size_t i = 0; i < host.size(); ++i) {
    host[i] = static_cast<uint16_t>(i);
    const size_t row = i / 32, column = i % 32;
    expected[(column / 16 * 32 + row) * 16 + column % 16] = host[i];
  }
  const size_t bytes = host.size() * sizeof host[0];
  const Memory source(bytes), other(bytes);
  void* destination = wrong ? source.p : other.p;
  copy_in(source.p, bytes, host.data(), bytes);
  const int64_t shape[] = {32, 32}, storage[] = {2, 2, 16, 16};
  aclTensor* from = aclCreateTensor(shape, 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, shape, 2, source.p);
  aclTensor* to = aclCreateTensor(shape, 2, ACL_BF16, nullptr, 0, ACL_FORMAT_FRACTAL_NZ, storage, 4, destination);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  int status = aclnnNpuFormatCastGetWorkspaceSize(from, to, &workspace, &executor);
  if (status == 0) status = aclnnNpuFormatCast(nullptr, 0, executor, stream);
  const int later = aclrtSynchronizeStream(stream);
  aclrtMemcpy(host.data(), bytes, destination, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclDestroyTensor(from);
  aclDestroyTensor(to);
  if (status != 0 || later != 0) return status != 0 ? status : later;
  return host == expected ? 0 : -3;
}

/// Quantises two rows of ones to codes and scales that lie there, and checks the codes up to the first scale, if it
/// lies among them, and the scales.
int quantise_ones(void* x, char* codes, char* scale) {
  const std::vector<uint16_t> host(2 * 64, 0x3F80);
  copy_in(x, 256, host.data(), 256);
  const int64_t shape[] = {2, 64};
  aclTensor* tensors[] = {aclCreateTensor(shape, 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, shape, 2, x),
                          aclCreateTensor(shape, 2, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, shape, 2, codes),
                          aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, scale)};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  int status = aclnnDynamicQuantGetWorkspaceSize(tensors[0], nullptr, tensors[1], tensors[2], &bytes, &executor);
  const Memory workspace(static_cast<size_t>(bytes));
  if (status == 0) status = aclnnDynamicQuant(workspace.p, bytes, executor, stream);
  const int later = aclrtSynchronizeStream(stream);
  std::vector<signed char> result(128);
  float scales[2] = {};
  aclrtMemcpy(result.data(), 128, codes, 128, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtMemcpy(scales, sizeof scales, scale, sizeof scales, ACL_MEMCPY_DEVICE_TO_HOST);
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
  if (status != 0 || later != 0) return status != 0 ? status : later;
  std::vector<signed char> expected(128, 127);
  if (scale >= codes && scale < codes + 128) std::memcpy(expected.data() + (scale - codes), scales, sizeof scales);
  if (result != expected) return -3;
  return scales[0] == 1.0F / 127 && scales[1] == scales[0] ? 0 : -4;
}

int quant_overlap(bool wrong) {
  const Memory x(256), y(128), scale(8);
  // The first row's codes go over the second row.
  return quantise_ones(x.p, wrong ? x.at(128) : y.at(0), scale.at(0));
}

int quant_outputs_overlap(bool wrong) {
  const Memory x(256), y(128), scale(8);
  // Over the second row's codes, which come later than the first row's scale when rows are written one by one.
  return quantise_ones(x.p, y.at(0), wrong ? y.at(64) : scale.at(0));
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
      {"outputs_overlap", "output-overlap", outputs_overlap},
      {"cache_overlap", "output-overlap", cache_overlap},
      {"workspace_overlap", "output-overlap", workspace_overlap},
      {"format_cast_overlap", "output-overlap", format_cast_overlap},
      {"quant_overlap", "output-overlap", quant_overlap},
      {"quant_outputs_overlap", "output-overlap", quant_outputs_overlap},
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
