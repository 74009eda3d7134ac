#include "tools/io/storage.hpp"

#include <stdexcept>

namespace mla_prolog::tools {

StorageType storage_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return StorageType::f32;
    case DType::float16:
      return StorageType::f16;
    case DType::bf16:
      return StorageType::bf16;
    case DType::int8:
      return StorageType::i8;
    case DType::int32:
      return StorageType::i32;
    case DType::int64:
      return StorageType::i64;
    case DType::uint8:
    case DType::hifloat8:
    case DType::float8_e4m3fn:
    case DType::float8_e8m0:
      return StorageType::u8;
    default:
      throw std::logic_error("no storage type for this dtype");
  }
}

DType operator_dtype(StorageType storage, TensorId id, std::int64_t weight_quant_mode) noexcept {
  switch (storage) {
    case StorageType::u8:
      if (is_dequant_scale(id)) return DType::float8_e8m0;
      return weight_quant_mode == 5 ? DType::hifloat8 : DType::float8_e4m3fn;
    case StorageType::f8_e4m3:
      return DType::float8_e4m3fn;
    case StorageType::f8_e5m2:
      return DType::float8_e5m2;
    case StorageType::boolean:
      return DType::boolean;
    case StorageType::i8:
      return DType::int8;
    case StorageType::i16:
      return DType::int16;
    case StorageType::u16:
      return DType::uint16;
    case StorageType::f16:
      return DType::float16;
    case StorageType::bf16:
      return DType::bf16;
    case StorageType::i32:
      return DType::int32;
    case StorageType::u32:
      return DType::uint32;
    case StorageType::f32:
      return DType::float32;
    case StorageType::i64:
      return DType::int64;
    case StorageType::u64:
      return DType::uint64;
    case StorageType::f64:
      return DType::float64;
    case StorageType::f8_e8m0:
      return DType::float8_e8m0;
    case StorageType::f4:
    case StorageType::f6_e2m3:
    case StorageType::f6_e3m2:
    case StorageType::f8_e4m3fnuz:
    case StorageType::f8_e5m2fnuz:
    case StorageType::c64:
      return DType::undefined;
  }
  return DType::undefined;
}

}  // namespace mla_prolog::tools
