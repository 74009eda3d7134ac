// Float tensors before they become operands: from files, transposed, cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mla_prolog/tensor.hpp"
#include "tools/io/buffer.hpp"
#include "tools/io/safetensors.hpp"

namespace mla_prolog::tools {

/// A float tensor in memory: bf16 where that is what the source has, else float32.
struct FloatTensor {
  DType dtype = DType::bf16;
  std::vector<std::int64_t> shape;
  Buffer data;

  TensorDesc desc() const { return TensorDesc::dense(dtype, shape); }
  ConstTensorView view() const { return {desc(), data.data()}; }
};

/// BF16, F16 and F32.
bool is_float(StorageType type) noexcept;

/// The first `count` elements of a float tensor, widened to float32.
Buffer to_float32(const StoredTensor& tensor, std::size_t count);

/// The tensor as bf16 if it is stored so, else as float32.
FloatTensor load_float(const StoredTensor& tensor);

/// The tensor rounded to bf16 (nearest even); as it is when it is bf16 already.
FloatTensor to_bf16(FloatTensor tensor);

/// (rows, columns) to (columns, rows).
FloatTensor transposed(const FloatTensor& matrix);

/// Of `groups` groups of `group_rows` rows each, the first `rows` of every group: [groups, rows, columns].
FloatTensor first_rows_of_groups(const FloatTensor& matrix, std::int64_t groups, std::int64_t group_rows,
                                 std::int64_t rows);

}  // namespace mla_prolog::tools
