// Whole elements: kernels read and write data at multiples of the element's size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mla_prolog/tensor.hpp"

namespace mla_prolog {

inline std::size_t required_alignment(const TensorDesc& desc) noexcept {
  return std::max<std::size_t>(1, element_size(desc.dtype));
}

// Bytes by which an address lies past a whole element.
inline std::size_t misalignment(const TensorDesc& desc, const void* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % required_alignment(desc);
}

}  // namespace mla_prolog
