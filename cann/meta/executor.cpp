#include "cann/meta/executor.hpp"

#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

int unusable_executor(const Site& site, Life life) {
  if (life == Life::destroyed) {
    report(Finding::executor_reused, site,
           "the executor was used up by its phase two, or destroyed (aclSetAclOpExecutorRepeatable makes it last)");
  } else {
    report(Finding::invalid_handle, site, "executor was not made by this library");
  }
  return ACLNN_ERR_PARAM_INVALID;
}

/// 0, or the status for an executor that cannot be used (again). Runtime::mutex must be held for as long as that shall
/// be true: another thread may use the executor up or destroy it.
int check_executor(const Site& site, const aclOpExecutor* executor) {
  if (executor == nullptr) return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "executor is null");
  const Life life = Pool<aclOpExecutor>::instance().life(executor);
  if (life != Life::live) return unusable_executor(site, life);
  return executor->spent || executor->destroyed ? unusable_executor(site, Life::destroyed) : ACLNN_SUCCESS;
}

/// Position of a tensor among the executor's operands of a kind: the one at `index` if it is that tensor, else the one
/// that is; without a tensor, the one at `index`.
Operand* find_operand(aclOpExecutor& executor, api::Kind kind, std::size_t index, const aclTensor* tensor) {
  Operand* at_index = nullptr;
  Operand* same_tensor = nullptr;
  std::size_t position = 0;
  for (std::size_t i = 0; i < executor.operand_count; ++i) {
    Operand& operand = executor.operands[i];
    if (kind == api::Kind::input ? !operand.input : kind == api::Kind::output && !operand.output) continue;
    if (position == index) at_index = &operand;
    if (tensor != nullptr && operand.handle == tensor && same_tensor == nullptr) same_tensor = &operand;
    ++position;
  }
  if (tensor == nullptr || (at_index != nullptr && at_index->handle == tensor)) return at_index;
  return same_tensor;
}

/// Whether the tensor is not the executor's at the index, however one counts: with parameters that are null or without,
/// and with what is read and written among the outputs or not. How a device's library counts is not documented.
bool mistaken_index(const aclOpExecutor& executor, api::Kind kind, std::size_t index, const aclTensor* tensor) {
  for (const bool count_null : {true, false}) {
    for (const bool count_both : {true, false}) {
      std::size_t position = 0;
      for (std::size_t i = 0; i < executor.operand_count; ++i) {
        const Operand& operand = executor.operands[i];
        if (kind == api::Kind::input ? !operand.input : kind == api::Kind::output && !operand.output) continue;
        if (kind == api::Kind::output && !count_both && operand.input) continue;
        if (!count_null && operand.handle == nullptr) continue;
        if (operand.handle == tensor && position == index) return false;
        ++position;
      }
    }
  }
  return true;
}

}  // namespace

NewExecutor make_executor(const Site& site, const char* family, std::uint64_t workspace_bytes) {
  NewExecutor executor(Pool<aclOpExecutor>::instance().create());
  executor->family = family;
  executor->site = site;
  executor->workspace_bytes = workspace_bytes;
  return executor;
}

Operand make_operand(const aclTensor* tensor, const char* name, std::size_t extent, bool input, bool output) {
  Operand operand;
  operand.name = name;
  operand.input = input;
  operand.output = output;
  if (tensor == nullptr) return operand;
  operand.handle = tensor;
  operand.address = address_at(tensor->data, tensor->offset, element_size(static_cast<DType>(tensor->dtype)));
  operand.offset = tensor->offset;
  operand.element = element_size(static_cast<DType>(tensor->dtype));
  operand.extent = extent;
  return operand;
}

namespace api {

aclnnStatus set_repeatable(const Site& site, aclOpExecutor* executor) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(Runtime::instance().mutex);
    if (const int status = check_executor(site, executor)) return status;
    executor->repeatable = true;
    return ACLNN_SUCCESS;
  });
}

aclnnStatus destroy(const Site& site, aclOpExecutor* executor) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(Runtime::instance().mutex);
    if (const int status = check_executor(site, executor)) return status;
    executor->destroyed = true;
    if (executor->queued == 0) Pool<aclOpExecutor>::instance().destroy(executor);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus set_address(const Site& site, aclOpExecutor* executor, Kind kind, std::size_t index,
                        const aclTensor* tensor, void* address) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(Runtime::instance().mutex);
    if (const int status = check_executor(site, executor)) return status;
    if (const int status = check_tensor(site, "tensor", tensor)) return status;
    Operand* operand = find_operand(*executor, kind, index, tensor);
    if (operand == nullptr || operand->handle == nullptr) {
      return refuse(site, ACLNN_ERR_PARAM_INVALID,
                    "index is " + std::to_string(index) + ", and no tensor of the executor's fits");
    }
    if (tensor != nullptr && mistaken_index(*executor, kind, index, tensor) &&
        report(Finding::invalid_handle, site,
               "index is " + std::to_string(index) + ", which is not that of the tensor, " + operand->name)) {
      return ACLNN_ERR_PARAM_INVALID;
    }
    operand->address = address_at(address, operand->offset, operand->element);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus set_list_address(const Site& site, aclOpExecutor* executor) noexcept {
  return guarded([&]() -> int {
    const std::lock_guard lock(Runtime::instance().mutex);
    if (const int status = check_executor(site, executor)) return status;
    return refuse(site, ACLNN_ERR_PARAM_INVALID, "the executor's operator takes no tensor lists");
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
