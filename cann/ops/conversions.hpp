// The two operators that callers of MlaProlog need next to it.
#pragma once

#include <cstdint>

#include "aclnn/acl_meta.h"
#include "cann/runtime/checker.hpp"

namespace mla_prolog::cann::api {

aclnnStatus format_cast_shape(const Site& site, const aclTensor* source, int format, int additional_dtype,
                              std::int64_t** shape, std::uint64_t* rank, int* actual_format) noexcept;
aclnnStatus format_cast_phase_one(const Site& site, const aclTensor* source, const aclTensor* destination,
                                  std::uint64_t* workspace_bytes, aclOpExecutor** executor) noexcept;
aclnnStatus dynamic_quant_phase_one(const Site& site, const aclTensor* x, const aclTensor* smooth, const aclTensor* y,
                                    const aclTensor* scale, std::uint64_t* workspace_bytes,
                                    aclOpExecutor** executor) noexcept;

}  // namespace mla_prolog::cann::api
