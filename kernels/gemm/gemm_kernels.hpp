// Matmul kernels as one table of functions per instruction set; all tables give the same bits.
//
// C[t, j] = sum over k of X[t, k] * W[k, j], summed in the order of contract.md section 2:
//   bf16, e4m3, hif8  one call covers one chunk of at most kGemmChunk k: a float32 accumulator from 0 takes
//                     fma(x, w, acc) for ascending k, and the chunk's sum is stored or added to C;
//   mx                the same, but blocks of 32 are summed alone, scaled with one rounding and added to the chunk's
//   sum; int8              exact int32, one call covers any number of k.
//
// Weights lie in panels of 32 bytes' worth of columns (FRACTAL_NZ in place: rows 32 bytes apart, panels K * 32 bytes
// apart; a row-major bf16 matrix is panels 32 bytes apart with rows ld * 2 bytes apart). Left operands are packed by
// `pack_x` into groups of tokens, [k][tokens of the group], already decoded. Nothing here allocates, throws, or
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla_prolog::kernels {

inline constexpr std::int64_t kGemmChunk = 512;
// A panel's row, and so from one k to the next in FRACTAL_NZ.
inline constexpr std::int64_t kPanelBytes = 32;

enum class GemmType : std::uint8_t { bf16, int8, e4m3, hif8, mx };
inline constexpr std::size_t kGemmTypes = 5;

// Rows of the left operand and where their packed form goes.
struct GemmX {
  const void* rows = nullptr;            // codes of the first row, first k of the range
  std::int64_t row_stride = 0;           // elements
  const std::uint8_t* scales = nullptr;  // mx: E8M0 bytes, one per 32 k
  std::int64_t scale_stride = 0;         // mx: bytes from one row's scales to the next
  std::int64_t tokens = 0;
  std::int64_t k = 0;      // a multiple of 16, of 32 for mx
  std::int64_t group = 1;  // tokens per group
  void* packed = nullptr;  // x_bytes(tokens, k) bytes, 64-byte aligned
  bool in_place = false;   // for in_place alone: what only `packed` reads is left out
};

// Weights that will be wanted soon, laid out as in GemmArgs.
struct GemmPrefetch {
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t panel_stride = 0;
  std::ptrdiff_t row_stride = kPanelBytes;
  std::int64_t panels = 0;
  std::int64_t rows = 0;
};

struct GemmArgs {
  const std::uint8_t* weight = nullptr;         // first panel of the range, first k of the range
  std::ptrdiff_t panel_stride = 0;              // bytes
  std::ptrdiff_t row_stride = kPanelBytes;      // bytes from k to k + 1
  const std::uint8_t* weight_scales = nullptr;  // mx: E8M0 byte of the range's first column and first block
  std::ptrdiff_t weight_scale_stride = 0;       // mx: bytes from one column's scales to the next
  std::int64_t columns = 0;                     // a multiple of the panel width: 16 for bf16, else 32
  std::int64_t k = 0;
  const void* x = nullptr;  // packed with the group size below
  std::int64_t tokens = 0;
  std::int64_t group = 1;
  void* c = nullptr;  // float32 or int32 [tokens][ldc]
  std::int64_t ldc = 0;
  bool accumulate = false;  // add to C rather than store
  void* scratch = nullptr;  // scratch_bytes(k) bytes, 64-byte aligned
  GemmPrefetch next = {};   // what the next call will read
};

// The kernels of one operand type.
struct GemmFunctions {
  // Bytes of the packed left operand.
  std::size_t (*x_bytes)(std::int64_t tokens, std::int64_t k);
  void (*pack_x)(const GemmX& x);
  std::size_t (*scratch_bytes)(std::int64_t k);
  // Streams the weights once per group of tokens, decoding them on the way: for few tokens. group <= in_place_group.
  void (*in_place)(const GemmArgs& args);
  // Decodes a panel of columns into scratch and uses it for all groups: for many tokens. group == packed_group.
  void (*packed)(const GemmArgs& args);
  std::int64_t in_place_group;
  // The columns that `in_place` takes side by side with groups of this many tokens: calls of this width stream best.
  std::int64_t (*in_place_columns)(std::int64_t group);
  std::int64_t packed_group;
  // The columns that `packed` decodes together.
  std::int64_t packed_columns;
  // From how many tokens on `packed` wins (measured).
  std::int64_t packed_from;
  // How much faster `packed` multiplies than `in_place`.
  double packed_gain;
};

struct GemmKernels {
  GemmFunctions types[kGemmTypes];

  constexpr const GemmFunctions& operator[](GemmType type) const { return types[static_cast<std::size_t>(type)]; }
};

// The same where the CPU has dot products of bf16 pairs, which `packed` uses.
struct GemmPairs {
  GemmKernels kernels;
  // Whether this CPU computes them as bf16_pairs.hpp takes for granted. To be called where it has the instruction.
  bool (*exact)();
};

}  // namespace mla_prolog::kernels
