// libnnopbase: tensors, scalars, arrays, lists, executors.
#include <cstdint>
#include <cstring>

#include "aclnn/acl_meta.h"
#include "cann/exports/site.hpp"
#include "cann/meta/executor.hpp"
#include "cann/meta/objects.hpp"

namespace api = mla_prolog::cann::api;

namespace {

/// The number behind an enumerator, which need not be one: reading it as an enumeration would be undefined.
template <typename Enum>
std::int32_t number(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(std::int32_t), "C's enumerations are integers");
  std::int32_t result = 0;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

}  // namespace

extern "C" {

aclnnStatus aclnnInit(const char*) { return ACLNN_SUCCESS; }
aclnnStatus aclnnFinalize(void) { return ACLNN_SUCCESS; }

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* strides,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorDataAddress) {
  return api::create_tensor(MLA_PROLOG_CALL_SITE(), {viewDims, viewDimsNum, number(dataType), strides, offset,
                                                     number(format), storageDims, storageDimsNum, tensorDataAddress});
}
aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* strides, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddress) {
  return api::init_tensor(MLA_PROLOG_CALL_SITE(), tensor,
                          {viewDims, viewDimsNum, number(dataType), strides, offset, number(format), storageDims,
                           storageDimsNum, tensorDataAddress});
}
aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return api::create_scalar(MLA_PROLOG_CALL_SITE(), value, number(dataType));
}
aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return api::create_array(MLA_PROLOG_CALL_SITE(), value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return api::create_array(MLA_PROLOG_CALL_SITE(), value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return api::create_array(MLA_PROLOG_CALL_SITE(), value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return api::create_list(MLA_PROLOG_CALL_SITE(), value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return api::create_list(MLA_PROLOG_CALL_SITE(), value, size);
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) { return api::destroy(MLA_PROLOG_CALL_SITE(), tensor); }
aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return api::destroy(MLA_PROLOG_CALL_SITE(), scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) { return api::destroy(MLA_PROLOG_CALL_SITE(), array); }
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) { return api::destroy(MLA_PROLOG_CALL_SITE(), array); }
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) { return api::destroy(MLA_PROLOG_CALL_SITE(), array); }
aclnnStatus aclDestroyTensorList(const aclTensorList* array) { return api::destroy(MLA_PROLOG_CALL_SITE(), array); }
aclnnStatus aclDestroyScalarList(const aclScalarList* array) { return api::destroy(MLA_PROLOG_CALL_SITE(), array); }

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return api::get_dims(MLA_PROLOG_CALL_SITE(), tensor, api::Dims::view, viewDims, viewDimsNum);
}
aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return api::get_dims(MLA_PROLOG_CALL_SITE(), tensor, api::Dims::storage, storageDims, storageDimsNum);
}
aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return api::get_dims(MLA_PROLOG_CALL_SITE(), tensor, api::Dims::strides, stridesValue, stridesNum);
}
aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return api::get_offset(MLA_PROLOG_CALL_SITE(), tensor, offset);
}
aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return api::get_format(MLA_PROLOG_CALL_SITE(), tensor, format);
}
aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return api::get_dtype(MLA_PROLOG_CALL_SITE(), tensor, dataType);
}
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return api::get_size(MLA_PROLOG_CALL_SITE(), array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return api::get_size(MLA_PROLOG_CALL_SITE(), array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return api::get_size(MLA_PROLOG_CALL_SITE(), array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return api::get_size(MLA_PROLOG_CALL_SITE(), tensorList, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return api::get_size(MLA_PROLOG_CALL_SITE(), scalarList, size);
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return api::set_repeatable(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) { return api::destroy(MLA_PROLOG_CALL_SITE(), executor); }

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::input, index, tensor, addr);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::output, index, tensor, addr);
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::any, index, tensor, addr);
}
aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::input, index, tensor, addr);
}
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::output, index, tensor, addr);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return api::set_address(MLA_PROLOG_CALL_SITE(), executor, api::Kind::any, index, tensor, addr);
}
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}
aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t, const size_t, aclTensorList*, void*) {
  return api::set_list_address(MLA_PROLOG_CALL_SITE(), executor);
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return api::set_raw_address(MLA_PROLOG_CALL_SITE(), tensor, addr);
}
aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return api::get_raw_address(MLA_PROLOG_CALL_SITE(), tensor, addr);
}
aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors, size_t inputTensorNum,
                             size_t outputTensorNum, aclrtStream) {
  return api::dump_tensors(MLA_PROLOG_CALL_SITE(), opType, opName, tensors, inputTensorNum + outputTensorNum);
}

}  // extern "C"
