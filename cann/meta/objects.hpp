// Tensors, scalars, arrays and lists of the aclnn interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "cann/meta/pool.hpp"
#include "cann/runtime/checker.hpp"
#include "mla_prolog/tensor.hpp"

/// What aclCreateTensor was told.
struct aclTensor {
  static constexpr std::size_t kMaxDims = 25;

  std::array<std::int64_t, kMaxDims> view{};
  std::array<std::int64_t, kMaxDims> strides{};
  std::array<std::int64_t, kMaxDims> storage{};
  std::size_t view_rank = 0;
  std::size_t storage_rank = 0;
  std::int64_t offset = 0;                ///< in elements
  std::int32_t dtype = ACL_DT_UNDEFINED;  ///< a number: programs make up some that the enumeration cannot hold
  std::int32_t format = ACL_FORMAT_UNDEFINED;
  void* data = nullptr;
};

struct aclScalar {
  std::array<std::byte, 16> value{};
  std::int32_t dtype = ACL_DT_UNDEFINED;
};

struct aclIntArray {
  std::vector<std::int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<bool> values;
};
struct aclTensorList {
  std::vector<const aclTensor*> members;
};
struct aclScalarList {
  std::vector<const aclScalar*> members;
};

namespace mla_prolog::cann {

/// View shape, strides, dtype and format as the library describes them; absent for null.
TensorDesc describe_tensor(const aclTensor* tensor);

/// 0, or the status for a tensor that is given (not null) but does not exist; then it is a finding.
int check_tensor(const Site& site, const char* argument, const aclTensor* tensor);

/// Address of an element; an offset that no address space has gives the last address, where nothing lies.
void* address_at(void* data, std::int64_t offset, std::size_t element);

namespace api {

struct TensorArguments {
  const std::int64_t* view;
  std::uint64_t view_rank;
  std::int32_t dtype;
  const std::int64_t* strides;
  std::int64_t offset;
  std::int32_t format;
  const std::int64_t* storage;
  std::uint64_t storage_rank;
  void* data;
};

aclTensor* create_tensor(const Site& site, const TensorArguments& arguments) noexcept;
aclnnStatus init_tensor(const Site& site, aclTensor* tensor, const TensorArguments& arguments) noexcept;
aclScalar* create_scalar(const Site& site, const void* value, std::int32_t dtype) noexcept;
aclIntArray* create_array(const Site& site, const std::int64_t* values, std::uint64_t size) noexcept;
aclFloatArray* create_array(const Site& site, const float* values, std::uint64_t size) noexcept;
aclBoolArray* create_array(const Site& site, const bool* values, std::uint64_t size) noexcept;
aclTensorList* create_list(const Site& site, const aclTensor* const* members, std::uint64_t size) noexcept;
aclScalarList* create_list(const Site& site, const aclScalar* const* members, std::uint64_t size) noexcept;

aclnnStatus destroy(const Site& site, const aclTensor* object) noexcept;
aclnnStatus destroy(const Site& site, const aclScalar* object) noexcept;
aclnnStatus destroy(const Site& site, const aclIntArray* object) noexcept;
aclnnStatus destroy(const Site& site, const aclFloatArray* object) noexcept;
aclnnStatus destroy(const Site& site, const aclBoolArray* object) noexcept;
aclnnStatus destroy(const Site& site, const aclTensorList* object) noexcept;
aclnnStatus destroy(const Site& site, const aclScalarList* object) noexcept;

enum class Dims { view, storage, strides };
aclnnStatus get_dims(const Site& site, const aclTensor* tensor, Dims which, std::int64_t** dims,
                     std::uint64_t* count) noexcept;
aclnnStatus get_offset(const Site& site, const aclTensor* tensor, std::int64_t* offset) noexcept;
aclnnStatus get_format(const Site& site, const aclTensor* tensor, aclFormat* format) noexcept;
aclnnStatus get_dtype(const Site& site, const aclTensor* tensor, aclDataType* dtype) noexcept;
aclnnStatus get_size(const Site& site, const aclIntArray* object, std::uint64_t* size) noexcept;
aclnnStatus get_size(const Site& site, const aclFloatArray* object, std::uint64_t* size) noexcept;
aclnnStatus get_size(const Site& site, const aclBoolArray* object, std::uint64_t* size) noexcept;
aclnnStatus get_size(const Site& site, const aclTensorList* object, std::uint64_t* size) noexcept;
aclnnStatus get_size(const Site& site, const aclScalarList* object, std::uint64_t* size) noexcept;
aclnnStatus set_raw_address(const Site& site, aclTensor* tensor, void* address) noexcept;
aclnnStatus get_raw_address(const Site& site, const aclTensor* tensor, void** address) noexcept;
aclnnStatus dump_tensors(const Site& site, const char* type, const char* name, aclTensor** tensors,
                         std::size_t count) noexcept;

}  // namespace api
}  // namespace mla_prolog::cann
