// Copies between a strided view and a dense image of it.
#pragma once

#include <cstddef>
#include <string>

#include "cann/meta/objects.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog::cann {

/// The dense description with the same dtype, format and shape.
TensorDesc densified(const TensorDesc& view);

/// What makes a view's strides unusable ("tokenX has stride -4 ..."), or empty. A dimension of at most one element has
/// no stride that matters, nor has a view without elements.
std::string refuse_strides(const char* name, const TensorDesc& view);

/// Whether a size computed from the view's shape, filled up to whole groups, could not be held.
bool uncountable(const aclTensor& tensor);

void gather(const TensorDesc& view, const void* source, void* dense);
void scatter(const TensorDesc& view, const void* dense, void* destination);
/// From one memory with the view's strides to another.
void copy_view(const TensorDesc& view, const void* source, void* destination);

}  // namespace mla_prolog::cann
