// aclnnNpuFormatCast: ND to FRACTAL_NZ and back. Element (k, n) of a (K, N) matrix lies at
// (n/c0, k/16, k%16, n%c0) of the (N/c0, K/16, 16, c0) result; sizes that do not divide are filled up with zeros.
#include <algorithm>
#include <cstring>
#include <string>

#include "cann/meta/executor.hpp"
#include "cann/ops/apart.hpp"
#include "cann/ops/conversions.hpp"
#include "cann/ops/staging.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

constexpr const char* kFamily = "aclnnNpuFormatCast";
constexpr std::int64_t kRows = 16;

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// Several matrices one after the other.
struct Matrices {
  std::int64_t count = 1;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t c0 = 0;

  std::int64_t nz_elements() const { return count * divide_up(n, c0) * divide_up(k, kRows) * kRows * c0; }
};

bool supported_dtype(std::int32_t dtype) {
  const std::size_t size = element_size(static_cast<DType>(dtype));
  return (size == 1 || size == 2) && dtype != ACL_INT4 && dtype != ACL_UINT1;
}

Matrices matrices_of(const aclTensor& nd, std::int64_t c0) {
  Matrices m;
  for (std::size_t i = 0; i + 2 < nd.view_rank; ++i) m.count *= nd.view[i];
  m.k = nd.view[nd.view_rank - 2];
  m.n = nd.view[nd.view_rank - 1];
  m.c0 = c0;
  return m;
}

class FormatCastOperation final : public Operation {
 public:
  FormatCastOperation(Matrices matrices, std::size_t element, bool to_nz)
      : matrices_(matrices), element_(element), to_nz_(to_nz) {}

  int run(const Launch& launch, std::string& error) override {
    const ApartInputs inputs(launch);
    if (inputs.refused(error)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    const Matrices& m = matrices_;
    const auto* source = static_cast<const char*>(inputs[0]);
    auto* destination = static_cast<char*>(launch.data[1]);
    const std::size_t nz_bytes = static_cast<std::size_t>(m.nz_elements()) * element_;
    if (to_nz_) std::memset(destination, 0, nz_bytes);
    const std::int64_t groups = divide_up(m.n, m.c0);
    const std::int64_t padded_k = divide_up(m.k, kRows) * kRows;
    for (std::int64_t row = 0; row < m.count * m.k; ++row) {
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t width = std::min(m.c0, m.n - group * m.c0);
        const std::size_t nd = static_cast<std::size_t>(row * m.n + group * m.c0) * element_;
        const std::size_t nz =
            static_cast<std::size_t>((((row / m.k) * groups + group) * padded_k + row % m.k) * m.c0) * element_;
        std::memcpy(destination + (to_nz_ ? nz : nd), source + (to_nz_ ? nd : nz),
                    static_cast<std::size_t>(width) * element_);
      }
    }
    return ACL_SUCCESS;
  }

 private:
  Matrices matrices_;
  std::size_t element_;
  bool to_nz_;
};

bool same_view(const aclTensor& a, const aclTensor& b) { return a.view_rank == b.view_rank && a.view == b.view; }

/// The text of what is wrong with a cast, or empty.
std::string refusal(const aclTensor& source, const aclTensor& destination) {
  const bool to_nz = source.format == ACL_FORMAT_ND && destination.format == ACL_FORMAT_FRACTAL_NZ;
  const bool to_nd = source.format == ACL_FORMAT_FRACTAL_NZ && destination.format == ACL_FORMAT_ND;
  if (!to_nz && !to_nd) return "the formats must be ND and FRACTAL_NZ, or the other way round";
  if (source.dtype != destination.dtype) return "srcTensor and dstTensor must have one data type";
  if (!supported_dtype(source.dtype)) return "the data type must have 1 or 2 bytes";
  if (source.view_rank < 2 || source.view_rank > 6) return "srcTensor must have 2 to 6 dimensions";
  if (uncountable(source)) return "srcTensor has a negative dimension, or too many elements to count";
  if (!same_view(source, destination)) return "dstTensor must have the view shape of srcTensor";
  const aclTensor& nz = to_nz ? destination : source;
  const aclTensor& nd = to_nz ? source : destination;
  if (!describe_tensor(&nd).is_dense()) return "the ND tensor must be dense";
  if (nz.storage_rank != nz.view_rank + 2)
    return "the storage shape must be that of aclnnNpuFormatCastCalculateSizeAndFormat";
  const std::int64_t c0 = nz.storage[nz.storage_rank - 1];
  if (c0 != nz_width(DType::int8) && c0 != nz_width(DType::bf16)) {
    return "the last storage dimension must be the group width, 16 or 32";
  }
  const Matrices m = matrices_of(nd, c0);
  if (nz.storage[nz.storage_rank - 2] != kRows || nz.storage[nz.storage_rank - 3] != divide_up(m.k, kRows) ||
      nz.storage[nz.storage_rank - 4] != divide_up(m.n, c0)) {
    return "the storage shape must be that of aclnnNpuFormatCastCalculateSizeAndFormat";
  }
  return {};
}

}  // namespace

namespace api {

aclnnStatus format_cast_shape(const Site& site, const aclTensor* source, int format, int additional_dtype,
                              std::int64_t** shape, std::uint64_t* rank, int* actual_format) noexcept {
  return guarded([&]() -> int {
    if (source == nullptr || shape == nullptr || rank == nullptr || actual_format == nullptr) {
      return refuse(site, ACLNN_ERR_PARAM_NULLPTR,
                    source == nullptr ? "srcTensor is null" : "a result pointer is null");
    }
    if (const int status = check_tensor(site, "srcTensor", source)) return status;
    if (format != ACL_FORMAT_FRACTAL_NZ && format != ACL_FORMAT_ND) {
      return refuse(site, ACLNN_ERR_PARAM_INVALID, "dstFormat is " + std::to_string(format) + ", must be 29 or 2");
    }
    const std::int32_t grouping = additional_dtype == -1 ? source->dtype : additional_dtype;
    if (!supported_dtype(source->dtype) || !supported_dtype(grouping)) {
      return refuse(site, ACLNN_ERR_PARAM_INVALID, "the data type must have 1 or 2 bytes");
    }
    if (source->view_rank < 2 || source->view_rank > 6) {
      return refuse(site, ACLNN_ERR_PARAM_INVALID, "srcTensor must have 2 to 6 dimensions");
    }
    if (uncountable(*source)) {
      return refuse(site, ACLNN_ERR_PARAM_INVALID, "srcTensor has a negative dimension, or too many elements to count");
    }
    const std::size_t lead = source->view_rank - 2;
    const bool to_nz = format == ACL_FORMAT_FRACTAL_NZ;
    auto* dims = new std::int64_t[lead + 4];
    std::copy_n(source->view.begin(), source->view_rank, dims);
    *rank = source->view_rank;
    if (to_nz) {
      const std::int64_t c0 = nz_width(static_cast<DType>(grouping));
      dims[lead] = divide_up(source->view[lead + 1], c0);
      dims[lead + 1] = divide_up(source->view[lead], kRows);
      dims[lead + 2] = kRows;
      dims[lead + 3] = c0;
      *rank += 2;
    }
    *shape = dims;
    *actual_format = format;
    return ACLNN_SUCCESS;
  });
}

aclnnStatus format_cast_phase_one(const Site& site, const aclTensor* source, const aclTensor* destination,
                                  std::uint64_t* workspace_bytes, aclOpExecutor** result) noexcept {
  return guarded([&]() -> int {
    if (source == nullptr || destination == nullptr || workspace_bytes == nullptr || result == nullptr) {
      return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "srcTensor, dstTensor, workspaceSize and executor must not be null");
    }
    if (const int status = check_tensor(site, "srcTensor", source)) return status;
    if (const int status = check_tensor(site, "dstTensor", destination)) return status;
    const std::string wrong = refusal(*source, *destination);
    if (!wrong.empty()) return refuse(site, ACLNN_ERR_PARAM_INVALID, wrong);
    const bool to_nz = destination->format == ACL_FORMAT_FRACTAL_NZ;
    const aclTensor& nz = to_nz ? *destination : *source;
    const Matrices m = matrices_of(*source, nz.storage[nz.storage_rank - 1]);
    const std::size_t element = element_size(static_cast<DType>(source->dtype));
    const std::size_t nd_bytes = static_cast<std::size_t>(m.count * m.k * m.n) * element;
    const std::size_t nz_bytes = static_cast<std::size_t>(m.nz_elements()) * element;

    NewExecutor executor = make_executor(site, kFamily, 0);
    executor->add(make_operand(source, "srcTensor", to_nz ? nd_bytes : nz_bytes, true, false));
    executor->add(make_operand(destination, "dstTensor", to_nz ? nz_bytes : nd_bytes, false, true));
    if (nd_bytes > 0) executor->operation = std::make_unique<FormatCastOperation>(m, element, to_nz);
    *workspace_bytes = 0;
    *result = executor.release();
    return ACLNN_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
