#include <bit>
#include <cstring>

#include "kernels/formats/bf16.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/e8m0.hpp"
#include "kernels/formats/fp16.hpp"
#include "kernels/formats/hif8.hpp"
#include "kernels/formats/int8.hpp"
#include "mla_prolog/convert.hpp"

namespace mla_prolog {
namespace {

template <typename Code, typename Convert>
bool encode_all(const float* values, std::size_t count, void* codes, Convert convert) {
  auto* out = static_cast<Code*>(codes);
  for (std::size_t i = 0; i < count; ++i) out[i] = convert(values[i]);
  return true;
}

template <typename Code, typename Convert>
bool decode_all(const void* codes, std::size_t count, float* values, Convert convert) {
  const auto* in = static_cast<const Code*>(codes);
  for (std::size_t i = 0; i < count; ++i) values[i] = convert(in[i]);
  return true;
}

}  // namespace

bool encode(DType dtype, const float* values, std::size_t count, void* codes) noexcept {
  switch (dtype) {
    case DType::float32:
      if (count > 0) std::memcpy(codes, values, count * sizeof(float));
      return true;
    case DType::bf16:
      return encode_all<std::uint16_t>(values, count, codes, kernels::bf16_from_float);
    case DType::float16:
      return encode_all<std::uint16_t>(values, count, codes, kernels::fp16_from_float);
    case DType::float8_e4m3fn:
      return encode_all<std::uint8_t>(values, count, codes, kernels::e4m3_from_float);
    case DType::hifloat8:
      return encode_all<std::uint8_t>(values, count, codes, kernels::hif8_from_float);
    case DType::float8_e8m0:
      return encode_all<std::uint8_t>(values, count, codes, kernels::e8m0_from_float);
    case DType::int8:
      return encode_all<std::int8_t>(values, count, codes, kernels::int8_from_float);
    default:
      return false;
  }
}

bool decode(DType dtype, const void* codes, std::size_t count, float* values) noexcept {
  switch (dtype) {
    case DType::float32:
      if (count > 0) std::memcpy(values, codes, count * sizeof(float));
      return true;
    case DType::bf16:
      return decode_all<std::uint16_t>(codes, count, values, kernels::float_from_bf16);
    case DType::float16:
      return decode_all<std::uint16_t>(codes, count, values, kernels::float_from_fp16);
    case DType::float8_e4m3fn:
      return decode_all<std::uint8_t>(codes, count, values, kernels::float_from_e4m3);
    case DType::hifloat8:
      return decode_all<std::uint8_t>(codes, count, values, kernels::float_from_hif8);
    case DType::float8_e8m0:
      return decode_all<std::uint8_t>(codes, count, values, kernels::float_from_e8m0);
    case DType::int8:
      return decode_all<std::int8_t>(codes, count, values, [](std::int8_t code) { return static_cast<float>(code); });
    default:
      return false;
  }
}

}  // namespace mla_prolog
