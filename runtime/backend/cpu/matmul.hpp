// Matmuls of a block of tokens on top of the panel kernels: which kernel, how k is cut, where packed operands lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/gemm/gemm_kernels.hpp"
#include "runtime/backend/onednn/matmul.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::cpu {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

kernels::GemmType gemm_type(Operand operand);
// Bytes of a weight, scales included.
double weight_bytes(Operand operand);

// A weight as the kernels read it: panels of 32 bytes' worth of columns.
struct Matrix {
  const std::uint8_t* data = nullptr;
  std::int64_t k = 0;
  std::ptrdiff_t panel_stride = 0;
  std::ptrdiff_t row_stride = kernels::kPanelBytes;
  const std::uint8_t* scales = nullptr;  // MX: [columns][k / 32]
  const std::byte* prepared = nullptr;   // the same for the engine, where there is one

  static Matrix nz(const void* data, std::int64_t k, const void* scales) {
    return {static_cast<const std::uint8_t*>(data),   k,      k * kernels::kPanelBytes, kernels::kPanelBytes,
            static_cast<const std::uint8_t*>(scales), nullptr};
  }
  // Row-major bf16.
  static Matrix row_major(const void* data, std::int64_t k, std::int64_t columns) {
    return {static_cast<const std::uint8_t*>(data), k, 32, static_cast<std::ptrdiff_t>(columns * 2), nullptr, nullptr};
  }
};

// Rows of a left operand.
struct LeftRows {
  const void* codes = nullptr;
  std::int64_t stride = 0;               // elements
  const std::uint8_t* scales = nullptr;  // MX: [rows][k / 32]
};

// A packed left operand: `tokens` rows, k from `first_k` on.
struct PackedLeft {
  std::byte* data = nullptr;
  std::int64_t tokens = 0;
  std::int64_t first_k = 0;
  // Only the rows' address so far: which form they are wanted in shows when they are multiplied.
  bool deferred = false;
};

// One kind of matmul with up to `max_tokens` tokens and k up to `max_k`: its kernels and the sizes that go with them.
class MatmulPlan {
 public:
  // `max_chunk`: of k that one call of a kernel takes; 0: as suits it best.
  MatmulPlan(const kernels::GemmKernels& kernels, Operand operand, std::int64_t max_tokens, std::int64_t max_k,
             std::int64_t max_chunk = 0);

  // Lets oneDNN multiply where a matrix is prepared for it and the left operand was packed alone: whole blocks of
  // columns with all of k. The rest, and what oneDNN fails at, goes through the native kernels. Before any size is
  // asked for.
  void set_engine(std::shared_ptr<const onednn::Matmul> engine);

  // How many tokens' left operand fits a first-level working set decides how much of k is packed at a time: a span is a
  // whole number of chunks (any length for int8, which has no chunks).
  std::int64_t span() const { return span_; }
  std::int64_t chunk() const { return chunk_; }
  std::int64_t panel_columns() const { return panel_columns_; }
  bool packed() const { return packed_; }
  // Whether multiply_native() uses the CPU's bf16 dot products (kernels/gemm/bf16_pairs.hpp).
  bool by_pairs() const { return packed_ && functions_->packed_gain > 1.0; }
  std::int64_t group() const { return group_; }
  // Bytes of the packed left operand: of one span, and of all of k.
  std::size_t span_bytes() const { return left_bytes(span_); }
  std::size_t all_bytes() const { return left_bytes(max_k_); }
  std::size_t scratch_bytes() const;

  // Packs k [k0, k1) of rows [token, token + tokens) to their place in `to`, chunk by chunk; `token` is a multiple of
  // group().
  void pack(const LeftRows& rows, std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
            const PackedLeft& to) const;
  // Those rows alone, to the beginning of `packed`.
  PackedLeft pack_alone(const LeftRows& rows, std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
                        std::byte* packed) const;

  // c[tokens][ldc] (+)= left . matrix for rows [token, token + tokens) of `left`, k [k0, k1), and columns [n0, n1),
  // multiples of panel_columns(). `next` is what will be read after the last columns (first_read). Stores when not
  // `accumulate`.
  void multiply(const Matrix& matrix, std::int64_t n0, std::int64_t n1, const PackedLeft& left, std::int64_t token,
                std::int64_t tokens, std::int64_t k0, std::int64_t k1, bool accumulate, void* c, std::int64_t ldc,
                void* scratch, const kernels::GemmPrefetch& next = {}) const;

  // What a multiplication of columns [n0, n1) and k [k0, k1) with this many tokens expects to be in the second-level
  // cache when it begins.
  kernels::GemmPrefetch first_read(const Matrix& matrix, std::int64_t n0, std::int64_t n1, std::int64_t k0,
                                   std::int64_t k1, std::int64_t tokens) const;

 private:
  enum class Form : std::uint8_t { none, native, widened };
  struct Deferred {
    LeftRows rows;
    std::int64_t tokens, k0, k1;
    Form form;
  };

  // The order of the kernel's calls: for each run of columns chunk after chunk of k.
  struct Walk {
    std::int64_t n0, k0;
    std::int64_t chunks = 1;         // of k
    std::int64_t step = 0;           // columns of a call
    std::int64_t first_columns = 0;  // that a call reads first
    std::int64_t ahead = 1;          // a call fetches the weights of this many calls later

    std::int64_t column(std::int64_t call) const { return n0 + call / chunks * step; }
    std::int64_t row(std::int64_t call, std::int64_t chunk) const { return k0 + call % chunks * chunk; }
  };
  Walk walk(const Matrix& matrix, std::int64_t n0, std::int64_t n1, std::int64_t k0, std::int64_t k1,
            std::int64_t tokens) const;
  kernels::GemmPrefetch weights_of(const Matrix& matrix, std::int64_t n, std::int64_t columns, std::int64_t k,
                                   std::int64_t rows) const;
  std::size_t native_bytes(std::int64_t k) const;
  std::size_t left_bytes(std::int64_t k) const;
  PackedLeft defer(const LeftRows& rows, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
                   std::byte* packed) const;
  // The same packed now, if it is not yet.
  PackedLeft packed_form(const PackedLeft& left) const;
  void multiply_native(const Matrix& matrix, std::int64_t n0, std::int64_t n1, const PackedLeft& left,
                       std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1, bool accumulate,
                       void* c, std::int64_t ldc, void* scratch, const kernels::GemmPrefetch& next) const;
  // One block of columns. False: nothing is lost, multiply natively.
  bool multiply_block(const Matrix& matrix, std::int64_t n, const PackedLeft& left, void* c, std::int64_t ldc,
                      void* scratch) const;
  std::byte* at(const PackedLeft& left, std::int64_t token, std::int64_t k, std::int64_t count) const;

  std::shared_ptr<const onednn::Matmul> engine_;
  const kernels::GemmFunctions* functions_;
  kernels::GemmType type_;
  std::int64_t max_tokens_;
  std::int64_t max_k_;
  bool packed_;
  std::int64_t group_;
  std::int64_t chunk_;
  std::int64_t span_;
  std::int64_t panel_columns_;
};

}  // namespace mla_prolog::cpu
