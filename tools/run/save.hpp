// Operands to safetensors files, named and stored as in the golden cases: weights logical (K, N), 8-bit floats as U8.
#pragma once

#include <string>

#include "tools/run/operands.hpp"

namespace mla_prolog::tools {

/// Every input tensor as the operator gets it. Call before the run: the caches are inputs too.
void save_inputs(const std::string& path, const Operands& operands);

/// Every output and the whole caches; an empty kr_cache of a per-tile scenario is left out.
void save_outputs(const std::string& path, const Operands& operands);

/// Whether a tensor belongs to the results: outputs, and caches unless unused.
bool is_result(const Problem& problem, TensorId id) noexcept;

}  // namespace mla_prolog::tools
