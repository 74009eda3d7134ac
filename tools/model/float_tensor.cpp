#include "tools/model/float_tensor.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "mla_prolog/convert.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::int64_t kTile = 64;       // both dimensions of a tile of the transposition: two of them fit the L1 cache
constexpr std::size_t kBlock = 1 << 16;  // elements a thread converts at a time

template <typename T>
void transpose(const T* in, std::int64_t rows, std::int64_t columns, T* out) {
#pragma omp parallel for schedule(static) collapse(2)
  for (std::int64_t row0 = 0; row0 < rows; row0 += kTile) {
    for (std::int64_t column0 = 0; column0 < columns; column0 += kTile) {
      for (std::int64_t column = column0; column < std::min(column0 + kTile, columns); ++column) {
        for (std::int64_t row = row0; row < std::min(row0 + kTile, rows); ++row) {
          out[column * rows + row] = in[row * columns + column];
        }
      }
    }
  }
}

}  // namespace

bool is_float(StorageType type) noexcept {
  return type == StorageType::bf16 || type == StorageType::f16 || type == StorageType::f32;
}

Buffer to_float32(const StoredTensor& tensor, std::size_t count) {
  Buffer values(count * sizeof(float));
  const std::size_t size = element_size(tensor.type);
  const DType dtype = operator_dtype(tensor.type, TensorId::none, 0);
  const auto blocks = static_cast<std::ptrdiff_t>((count + kBlock - 1) / kBlock);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t block = 0; block < blocks; ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kBlock;
    const std::size_t here = std::min(kBlock, count - first);
    // Data in files need not be aligned to its elements: a piece at a time moves to where it is.
    constexpr std::size_t kPiece = 1024;
    std::array<std::uint32_t, kPiece> aligned;
    for (std::size_t i = 0; i < here; i += kPiece) {
      const std::size_t piece = std::min(kPiece, here - i);
      std::memcpy(aligned.data(), tensor.bytes.data() + (first + i) * size, piece * size);
      decode(dtype, aligned.data(), piece, values.as<float>().data() + first + i);
    }
  }
  return values;
}

FloatTensor load_float(const StoredTensor& tensor) {
  if (tensor.type == StorageType::bf16) return {DType::bf16, tensor.shape, Buffer::copy_of(tensor.bytes)};
  return {DType::float32, tensor.shape, to_float32(tensor, tensor.elements())};
}

FloatTensor to_bf16(FloatTensor tensor) {
  if (tensor.dtype == DType::bf16) return tensor;
  const std::span<const float> values = std::as_const(tensor.data).as<float>();
  FloatTensor rounded{DType::bf16, tensor.shape, Buffer(values.size() * sizeof(std::uint16_t))};
  std::uint16_t* const out = rounded.data.as<std::uint16_t>().data();
  const auto blocks = static_cast<std::ptrdiff_t>((values.size() + kBlock - 1) / kBlock);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t block = 0; block < blocks; ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kBlock;
    encode(DType::bf16, values.data() + first, std::min(kBlock, values.size() - first), out + first);
  }
  return rounded;
}

FloatTensor transposed(const FloatTensor& matrix) {
  const std::int64_t rows = matrix.shape[0];
  const std::int64_t columns = matrix.shape[1];
  FloatTensor result{matrix.dtype, {columns, rows}, Buffer(matrix.data.size())};
  if (matrix.dtype == DType::bf16) {
    transpose(matrix.data.as<std::uint16_t>().data(), rows, columns, result.data.as<std::uint16_t>().data());
  } else {
    transpose(matrix.data.as<float>().data(), rows, columns, result.data.as<float>().data());
  }
  return result;
}

FloatTensor first_rows_of_groups(const FloatTensor& matrix, std::int64_t groups, std::int64_t group_rows,
                                 std::int64_t rows) {
  const std::int64_t columns = matrix.shape[1];
  const std::size_t row_bytes = static_cast<std::size_t>(columns) * element_size(matrix.dtype);
  const std::size_t kept = static_cast<std::size_t>(rows) * row_bytes;
  const std::size_t stride = static_cast<std::size_t>(group_rows) * row_bytes;
  FloatTensor result{matrix.dtype, {groups, rows, columns}, Buffer(static_cast<std::size_t>(groups) * kept)};
  for (std::size_t group = 0; group < static_cast<std::size_t>(groups); ++group) {
    std::ranges::copy(matrix.data.bytes().subspan(group * stride, kept),
                      result.data.bytes().begin() + static_cast<std::ptrdiff_t>(group * kept));
  }
  return result;
}

}  // namespace mla_prolog::tools
