// Number formats travel as their bit patterns.
#pragma once

#include <cstdint>

namespace mla_prolog::kernels {

using bf16_t = std::uint16_t;

}  // namespace mla_prolog::kernels
