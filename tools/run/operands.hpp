// The tensors of one call in host memory, and the comparison of results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mla_prolog/plan.hpp"
#include "mla_prolog/prepare.hpp"
#include "tools/io/buffer.hpp"

namespace mla_prolog::tools {

/// A problem and the bytes of all its tensors.
struct Operands {
  Problem problem;
  std::array<Buffer, kTensorCount> data;

  Buffer& operator[](TensorId id) { return data[static_cast<std::size_t>(id)]; }
  const Buffer& operator[](TensorId id) const { return data[static_cast<std::size_t>(id)]; }
  /// The operator reads and writes the buffers through these.
  Tensors pointers();
  /// Allocates every described output, with content that no result would leave.
  void allocate_outputs();
};

/// What the plan's engine wants of the weights; nothing for native plans. Throws UsageError when that cannot be had.
PreparedWeights prepare_or_throw(const Plan& plan, Operands& operands);

/// Bytes of all tensors that a problem describes, as if dense; SIZE_MAX when that does not fit.
std::size_t total_bytes(const Problem& problem) noexcept;

/// Physical memory of this machine, or SIZE_MAX when unknown. What needs more is refused before it is tried.
std::size_t physical_memory() noexcept;

/// Rearranges a logical (k, n) matrix of 1- or 2-byte elements into FRACTAL_NZ, or back. Throws std::invalid_argument
/// when it cannot be.
void nd_to_nz(std::size_t element_bytes, std::int64_t k, std::int64_t n, const void* nd, void* nz);
void nz_to_nd(std::size_t element_bytes, std::int64_t k, std::int64_t n, const void* nz, void* nd);

/// One element as text: bf16 and float32 by value, integers as integers, 8-bit floats and E8M0 by their code.
std::string element_text(DType dtype, const std::byte* element);

struct Difference {
  std::size_t index = 0;  ///< flat index of the first differing element
  std::string expected;
  std::string actual;
  std::size_t count = 0;  ///< differing elements
};

/// Compares element by element, to the bit. Both hold the same number of bytes.
std::optional<Difference> compare(DType dtype, std::span<const std::byte> expected, std::span<const std::byte> actual);

}  // namespace mla_prolog::tools
