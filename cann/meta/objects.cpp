#include "cann/meta/objects.hpp"

#include <algorithm>
#include <cstring>

#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

int refuse_object(const Site& site, const char* argument, Life life) {
  report(
      Finding::invalid_handle, site,
      std::string(argument) + (life == Life::destroyed ? " was destroyed already" : " was not made by this library"));
  return ACLNN_ERR_PARAM_INVALID;
}

/// 0, or the status of an object that does not exist. A null one is `null_status`.
template <typename T>
int check_object(const Site& site, const char* argument, const T* object, int null_status) {
  if (object == nullptr) {
    return null_status == 0 ? 0 : refuse(site, null_status, std::string(argument) + " is null");
  }
  const Life life = Pool<T>::instance().life(object);
  return life == Life::live ? ACLNN_SUCCESS : refuse_object(site, argument, life);
}

template <typename T>
aclnnStatus destroy_object(const Site& site, const char* argument, const T* object) noexcept {
  return guarded([&]() -> int {
    if (object == nullptr) return ACLNN_SUCCESS;
    // Of two threads that destroy an object one is the first.
    if (Pool<T>::instance().destroy(object)) return ACLNN_SUCCESS;
    return refuse_object(site, argument, Pool<T>::instance().life(object));
  });
}

/// A list's members go with it.
template <typename List, typename Member>
aclnnStatus destroy_list(const Site& site, const List* list) noexcept {
  return guarded([&]() -> int {
    if (list == nullptr) return ACLNN_SUCCESS;
    if (const int status = check_object(site, "list", list, 0)) return status;
    for (const Member* member : list->members) Pool<Member>::instance().destroy(member);
    Pool<List>::instance().destroy(list);
    return ACLNN_SUCCESS;
  });
}

template <typename T, typename Get>
aclnnStatus get_value(const Site& site, const char* argument, const T* object, const void* result, Get&& get) noexcept {
  return guarded([&]() -> int {
    if (result == nullptr) return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "the result pointer is null");
    if (const int status = check_object(site, argument, object, ACLNN_ERR_PARAM_NULLPTR)) return status;
    get();
    return ACLNN_SUCCESS;
  });
}

/// The object, or null after an exception.
template <typename F>
auto* made(F&& make) noexcept {
  decltype(make()) object = nullptr;
  guarded([&] {
    object = make();
    return 0;
  });
  return object;
}

template <typename Array, typename Value>
Array* make_array(const Site& site, const Value* values, std::uint64_t size) {
  if (values == nullptr && size > 0) {
    refuse(site, ACLNN_ERR_PARAM_NULLPTR, "value is null");
    return nullptr;
  }
  Array array;
  array.values.assign(values, values + size);
  return Pool<Array>::instance().create(std::move(array));
}

template <typename List, typename Member>
List* make_list(const Site& site, const Member* const* members, std::uint64_t size) {
  if (members == nullptr && size > 0) {
    refuse(site, ACLNN_ERR_PARAM_NULLPTR, "value is null");
    return nullptr;
  }
  for (std::uint64_t i = 0; i < size; ++i) {
    if (check_object(site, "a member", members[i], 0) != 0) return nullptr;
  }
  List list;
  list.members.assign(members, members + size);
  return Pool<List>::instance().create(std::move(list));
}

bool fill_tensor(const Site& site, const api::TensorArguments& a, aclTensor& tensor) {
  if ((a.view == nullptr && a.view_rank > 0) || (a.storage == nullptr && a.storage_rank > 0)) {
    refuse(site, ACLNN_ERR_PARAM_NULLPTR,
           a.view == nullptr && a.view_rank > 0 ? "viewDims is null" : "storageDims is null");
    return false;
  }
  if (a.view_rank > aclTensor::kMaxDims || a.storage_rank > aclTensor::kMaxDims) {
    refuse(site, ACLNN_ERR_PARAM_INVALID, "more than " + std::to_string(aclTensor::kMaxDims) + " dimensions");
    return false;
  }
  tensor = {};
  tensor.view_rank = a.view_rank;
  tensor.storage_rank = a.storage_rank;
  std::copy_n(a.view, a.view_rank, tensor.view.begin());
  std::copy_n(a.storage, a.storage_rank, tensor.storage.begin());
  std::int64_t stride = 1;
  for (std::size_t i = a.view_rank; i-- > 0;) {
    tensor.strides[i] = a.strides == nullptr ? stride : a.strides[i];
    stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(a.view[i]));
  }
  tensor.offset = a.offset;
  tensor.dtype = a.dtype;
  tensor.format = a.format;
  tensor.data = a.data;
  return true;
}

}  // namespace

TensorDesc describe_tensor(const aclTensor* tensor) {
  if (tensor == nullptr) return {};
  TensorDesc desc;
  desc.dtype = static_cast<DType>(tensor->dtype);
  desc.format = static_cast<Format>(tensor->format);
  desc.rank = static_cast<std::int32_t>(tensor->view_rank);
  const std::size_t kept = std::min(tensor->view_rank, static_cast<std::size_t>(kMaxRank));
  std::copy_n(tensor->view.begin(), kept, desc.shape.begin());
  std::copy_n(tensor->strides.begin(), kept, desc.strides.begin());
  return desc;
}

int check_tensor(const Site& site, const char* argument, const aclTensor* tensor) {
  return check_object(site, argument, tensor, 0);
}

void* address_at(void* data, std::int64_t offset, std::size_t element) {
  if (data == nullptr) return nullptr;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(offset, static_cast<std::int64_t>(element), &bytes)) {
    return reinterpret_cast<void*>(UINTPTR_MAX);
  }
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes));
}

namespace api {

aclTensor* create_tensor(const Site& site, const TensorArguments& arguments) noexcept {
  return made([&]() -> aclTensor* {
    aclTensor tensor;
    if (!fill_tensor(site, arguments, tensor)) return nullptr;
    return Pool<aclTensor>::instance().create(tensor);
  });
}

aclnnStatus init_tensor(const Site& site, aclTensor* tensor, const TensorArguments& arguments) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_object(site, "tensor", tensor, ACLNN_ERR_PARAM_NULLPTR)) return status;
    return fill_tensor(site, arguments, *tensor) ? ACLNN_SUCCESS : ACLNN_ERR_PARAM_NULLPTR;
  });
}

aclScalar* create_scalar(const Site& site, const void* value, std::int32_t dtype) noexcept {
  return made([&]() -> aclScalar* {
    if (value == nullptr) {
      refuse(site, ACLNN_ERR_PARAM_NULLPTR, "value is null");
      return nullptr;
    }
    aclScalar scalar;
    scalar.dtype = dtype;
    std::memcpy(scalar.value.data(), value, std::min(scalar.value.size(), element_size(static_cast<DType>(dtype))));
    return Pool<aclScalar>::instance().create(scalar);
  });
}

aclIntArray* create_array(const Site& site, const std::int64_t* values, std::uint64_t size) noexcept {
  return made([&] { return make_array<aclIntArray>(site, values, size); });
}
aclFloatArray* create_array(const Site& site, const float* values, std::uint64_t size) noexcept {
  return made([&] { return make_array<aclFloatArray>(site, values, size); });
}
aclBoolArray* create_array(const Site& site, const bool* values, std::uint64_t size) noexcept {
  return made([&] { return make_array<aclBoolArray>(site, values, size); });
}
aclTensorList* create_list(const Site& site, const aclTensor* const* members, std::uint64_t size) noexcept {
  return made([&] { return make_list<aclTensorList>(site, members, size); });
}
aclScalarList* create_list(const Site& site, const aclScalar* const* members, std::uint64_t size) noexcept {
  return made([&] { return make_list<aclScalarList>(site, members, size); });
}

aclnnStatus destroy(const Site& site, const aclTensor* object) noexcept {
  return destroy_object(site, "tensor", object);
}
aclnnStatus destroy(const Site& site, const aclScalar* object) noexcept {
  return destroy_object(site, "scalar", object);
}
aclnnStatus destroy(const Site& site, const aclIntArray* object) noexcept {
  return destroy_object(site, "array", object);
}
aclnnStatus destroy(const Site& site, const aclFloatArray* object) noexcept {
  return destroy_object(site, "array", object);
}
aclnnStatus destroy(const Site& site, const aclBoolArray* object) noexcept {
  return destroy_object(site, "array", object);
}
aclnnStatus destroy(const Site& site, const aclTensorList* object) noexcept {
  return destroy_list<aclTensorList, aclTensor>(site, object);
}
aclnnStatus destroy(const Site& site, const aclScalarList* object) noexcept {
  return destroy_list<aclScalarList, aclScalar>(site, object);
}

aclnnStatus get_dims(const Site& site, const aclTensor* tensor, Dims which, std::int64_t** dims,
                     std::uint64_t* count) noexcept {
  return get_value(site, "tensor", tensor, count == nullptr ? nullptr : dims, [&] {
    const auto& values = which == Dims::storage ? tensor->storage
                         : which == Dims::view  ? tensor->view
                                                : tensor->strides;
    const std::size_t size = which == Dims::storage ? tensor->storage_rank : tensor->view_rank;
    auto* copy = new std::int64_t[size];
    std::copy_n(values.begin(), size, copy);
    *dims = copy;
    *count = size;
  });
}

aclnnStatus get_offset(const Site& site, const aclTensor* tensor, std::int64_t* offset) noexcept {
  return get_value(site, "tensor", tensor, offset, [&] { *offset = tensor->offset; });
}
aclnnStatus get_format(const Site& site, const aclTensor* tensor, aclFormat* format) noexcept {
  return get_value(site, "tensor", tensor, format, [&] { *format = static_cast<aclFormat>(tensor->format); });
}
aclnnStatus get_dtype(const Site& site, const aclTensor* tensor, aclDataType* dtype) noexcept {
  return get_value(site, "tensor", tensor, dtype, [&] { *dtype = static_cast<aclDataType>(tensor->dtype); });
}
aclnnStatus get_size(const Site& site, const aclIntArray* object, std::uint64_t* size) noexcept {
  return get_value(site, "array", object, size, [&] { *size = object->values.size(); });
}
aclnnStatus get_size(const Site& site, const aclFloatArray* object, std::uint64_t* size) noexcept {
  return get_value(site, "array", object, size, [&] { *size = object->values.size(); });
}
aclnnStatus get_size(const Site& site, const aclBoolArray* object, std::uint64_t* size) noexcept {
  return get_value(site, "array", object, size, [&] { *size = object->values.size(); });
}
aclnnStatus get_size(const Site& site, const aclTensorList* object, std::uint64_t* size) noexcept {
  return get_value(site, "tensorList", object, size, [&] { *size = object->members.size(); });
}
aclnnStatus get_size(const Site& site, const aclScalarList* object, std::uint64_t* size) noexcept {
  return get_value(site, "scalarList", object, size, [&] { *size = object->members.size(); });
}
aclnnStatus set_raw_address(const Site& site, aclTensor* tensor, void* address) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_object(site, "tensor", tensor, ACLNN_ERR_PARAM_NULLPTR)) return status;
    tensor->data = address;
    return ACLNN_SUCCESS;
  });
}
aclnnStatus get_raw_address(const Site& site, const aclTensor* tensor, void** address) noexcept {
  return get_value(site, "tensor", tensor, address, [&] { *address = tensor->data; });
}

aclnnStatus dump_tensors(const Site& site, const char* type, const char* name, aclTensor** tensors,
                         std::size_t count) noexcept {
  return guarded([&]() -> int {
    if (type == nullptr || name == nullptr || (tensors == nullptr && count > 0)) {
      return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "opType, opName or tensors is null");
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (const int status = check_object(site, "a tensor", tensors[i], ACLNN_ERR_PARAM_NULLPTR)) return status;
    }
    return ACLNN_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
