#include "runtime/blocks/arguments.hpp"

#include <algorithm>

#include "kernels/dispatch/isa_registry.hpp"
#include "runtime/problem/alignment.hpp"

namespace mla_prolog::blocks {

const kernels::RowKernels* row_kernels() noexcept {
  static const kernels::RowKernels* const rows = [] {
    const kernels::KernelSetChoice choice = kernels::choose_kernel_set();
    return choice ? choice.set->rows : nullptr;
  }();
  return rows;
}

Status isa_unavailable() noexcept {
  return {.code = StatusCode::param_invalid, .rule = Rule::option_unavailable, .parameter = "MLA_PROLOG_ISA"};
}

std::int64_t row_count(const TensorDesc& desc) noexcept {
  if (desc.rank < 1) return 0;
  TensorDesc leading = desc;
  leading.rank = desc.rank - 1;
  return leading.rank == 0 ? 1 : leading.numel();
}

std::int64_t row_width(const TensorDesc& desc) noexcept {
  return desc.rank < 1 ? 0 : desc.shape[static_cast<std::size_t>(desc.rank - 1)];
}

void Arguments::fail(StatusCode code, Rule rule, const char* name, std::int64_t index, std::int64_t value,
                     std::int64_t limit) noexcept {
  status_ = {.code = code, .rule = rule, .parameter = name, .index = index, .value = value, .limit = limit};
}

Arguments& Arguments::view(const char* name, const ConstTensorView& view, Format format,
                           std::initializer_list<DType> dtypes) noexcept {
  if (!ok()) return *this;
  const TensorDesc& desc = view.desc;
  if (!desc.present() || desc.rank > kMaxRank) {
    fail(StatusCode::param_invalid, Rule::argument_rank, name, 0, desc.rank, 1);
  } else if (std::find(dtypes.begin(), dtypes.end(), desc.dtype) == dtypes.end()) {
    fail(StatusCode::param_invalid, Rule::argument_dtype, name, 0, static_cast<std::int64_t>(desc.dtype), 0);
  } else if (desc.format != format) {
    fail(StatusCode::param_invalid, Rule::argument_format, name, 0, static_cast<std::int64_t>(desc.format), 0);
  } else if (desc.numel() > 0 && !desc.is_dense()) {
    fail(StatusCode::param_invalid, Rule::argument_strides, name, 0, 0, 0);
  } else if (desc.numel() > 0 && view.data == nullptr) {
    fail(StatusCode::param_nullptr, Rule::pointer_null, name, 0, 0, 0);
  } else if (desc.numel() > 0 && misalignment(desc, view.data) != 0) {
    fail(StatusCode::param_invalid, Rule::pointer_misaligned, name, 0,
         static_cast<std::int64_t>(misalignment(desc, view.data)), static_cast<std::int64_t>(required_alignment(desc)));
  } else {
    for (std::int64_t i = 0; i < desc.rank; ++i) {
      const std::int64_t size = desc.shape[static_cast<std::size_t>(i)];
      if (size < 0) fail(StatusCode::param_invalid, Rule::argument_dimension, name, i, size, 0);
    }
  }
  return *this;
}

Arguments& Arguments::tensor(const char* name, const ConstTensorView& argument,
                             std::initializer_list<DType> dtypes) noexcept {
  return view(name, argument, Format::nd, dtypes);
}

Arguments& Arguments::nz_tensor(const char* name, const ConstTensorView& argument,
                                std::initializer_list<DType> dtypes) noexcept {
  return view(name, argument, Format::fractal_nz, dtypes);
}

Arguments& Arguments::rank_at_least(const char* name, const TensorDesc& desc, int rank) noexcept {
  if (ok() && desc.rank < rank) fail(StatusCode::param_invalid, Rule::argument_rank, name, 0, desc.rank, rank);
  return *this;
}

Arguments& Arguments::rank(const char* name, const TensorDesc& desc, int rank) noexcept {
  if (ok() && desc.rank != rank) fail(StatusCode::param_invalid, Rule::argument_rank, name, 0, desc.rank, rank);
  return *this;
}

Arguments& Arguments::rows(const char* name, const TensorDesc& desc, std::int64_t rows) noexcept {
  if (ok() && row_count(desc) != rows) {
    fail(StatusCode::param_invalid, Rule::argument_dimension, name, 0, row_count(desc), rows);
  }
  return *this;
}

Arguments& Arguments::width(const char* name, const TensorDesc& desc, std::int64_t width) noexcept {
  if (ok() && row_width(desc) != width) {
    fail(StatusCode::param_invalid, Rule::argument_dimension, name, desc.rank - 1, row_width(desc), width);
  }
  return *this;
}

Arguments& Arguments::width_multiple(const char* name, const TensorDesc& desc, std::int64_t factor) noexcept {
  if (ok() && (row_width(desc) <= 0 || row_width(desc) % factor != 0)) {
    fail(StatusCode::param_invalid, Rule::argument_multiple, name, desc.rank - 1, row_width(desc), factor);
  }
  return *this;
}

Arguments& Arguments::elements(const char* name, const TensorDesc& desc, std::int64_t count) noexcept {
  if (ok() && desc.numel() != count) {
    fail(StatusCode::param_invalid, Rule::argument_dimension, name, 0, desc.numel(), count);
  }
  return *this;
}

Arguments& Arguments::require(bool holds, const char* name, std::int64_t value) noexcept {
  if (ok() && !holds) fail(StatusCode::param_invalid, Rule::argument_value, name, 0, value, 0);
  return *this;
}

Arguments& Arguments::separate(const char* name, const ConstTensorView& written,
                               const ConstTensorView& other) noexcept {
  const auto begin = [](const ConstTensorView& v) { return reinterpret_cast<std::uintptr_t>(v.data); };
  const auto end = [&](const ConstTensorView& v) { return begin(v) + v.desc.extent_bytes(); };
  const bool empty = written.desc.numel() == 0 || other.desc.numel() == 0;
  if (ok() && !empty && begin(written) < end(other) && begin(other) < end(written)) {
    fail(StatusCode::param_invalid, Rule::tensors_overlap, name, 0, 0, 0);
  }
  return *this;
}

}  // namespace mla_prolog::blocks
