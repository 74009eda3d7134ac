// Checks of the building blocks' arguments, each naming the parameter.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/row_kernels.hpp"
#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog::blocks {

// Collects the first violation of a series of checks; later ones are skipped.
class Arguments {
 public:
  // `name` has one of the dtypes, format ND, dense strides, and a data pointer if it has elements.
  Arguments& tensor(const char* name, const ConstTensorView& view, std::initializer_list<DType> dtypes) noexcept;
  // The same for FRACTAL_NZ.
  Arguments& nz_tensor(const char* name, const ConstTensorView& view, std::initializer_list<DType> dtypes) noexcept;
  Arguments& rank_at_least(const char* name, const TensorDesc& desc, int rank) noexcept;
  Arguments& rank(const char* name, const TensorDesc& desc, int rank) noexcept;
  // The product of all dimensions but the last.
  Arguments& rows(const char* name, const TensorDesc& desc, std::int64_t rows) noexcept;
  Arguments& width(const char* name, const TensorDesc& desc, std::int64_t width) noexcept;
  Arguments& width_multiple(const char* name, const TensorDesc& desc, std::int64_t factor) noexcept;
  // All elements, whatever the shape.
  Arguments& elements(const char* name, const TensorDesc& desc, std::int64_t count) noexcept;
  Arguments& require(bool holds, const char* name, std::int64_t value) noexcept;
  Arguments& separate(const char* name, const ConstTensorView& written, const ConstTensorView& other) noexcept;

  bool ok() const noexcept { return status_.ok(); }
  const Status& status() const noexcept { return status_; }

 private:
  void fail(StatusCode code, Rule rule, const char* name, std::int64_t index, std::int64_t value,
            std::int64_t limit) noexcept;
  Arguments& view(const char* name, const ConstTensorView& view, Format format,
                  std::initializer_list<DType> dtypes) noexcept;

  Status status_;
};

// The row kernels of the best instruction set, or of the one that MLA_PROLOG_ISA names; null when it cannot run here.
const kernels::RowKernels* row_kernels() noexcept;
Status isa_unavailable() noexcept;

// Leading dimensions flattened.
std::int64_t row_count(const TensorDesc& desc) noexcept;
std::int64_t row_width(const TensorDesc& desc) noexcept;

}  // namespace mla_prolog::blocks
