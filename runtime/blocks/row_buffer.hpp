// One row as float32, read from and written to float32 or bf16 tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "kernels/row_kernels.hpp"
#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog::blocks {

class RowBuffer {
 public:
  RowBuffer(const kernels::RowKernels& rows, std::int64_t width) noexcept
      : rows_(&rows), width_(width), values_(new (std::nothrow) float[static_cast<std::size_t>(width)]) {}

  bool ok() const noexcept { return values_ != nullptr; }
  Status status() const noexcept {
    if (ok()) return {};
    return {.code = StatusCode::runtime_error,
            .rule = Rule::out_of_memory,
            .value = width_ * static_cast<std::int64_t>(sizeof(float))};
  }

  float* values() noexcept { return values_.get(); }

  void load(const ConstTensorView& view, std::int64_t row) noexcept {
    if (view.desc.dtype == DType::bf16) {
      rows_->widen_bf16(static_cast<const kernels::bf16_t*>(view.data) + row * width_, width_, values());
    } else {
      std::memcpy(values(), static_cast<const float*>(view.data) + row * width_,
                  static_cast<std::size_t>(width_) * sizeof(float));
    }
  }

  void store(const TensorView& view, std::int64_t row) noexcept {
    if (view.desc.dtype == DType::bf16) {
      rows_->round_to_bf16(values(), width_, static_cast<kernels::bf16_t*>(view.data) + row * width_);
    } else {
      std::memcpy(static_cast<float*>(view.data) + row * width_, values(),
                  static_cast<std::size_t>(width_) * sizeof(float));
    }
  }

 private:
  const kernels::RowKernels* rows_;
  std::int64_t width_;
  std::unique_ptr<float[]> values_;
};

}  // namespace mla_prolog::blocks
