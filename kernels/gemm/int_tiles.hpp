// Register tiles of the exact int8 matmul, over the words of one instruction set. x: [k / kGroup][tokens] words of
// kGroup k each, then one correction per token (what the accumulators start from).
#pragma once

#include "kernels/gemm/float_tiles.hpp"

namespace mla_prolog::kernels {
namespace {

using Int = VectorSet::Int;

constexpr int kIntGroup = IntDecoder::kGroup;

// Rows between two steps of the fetcher: they take a fraction of the time of a float tile's rows.
constexpr std::int64_t kIntFetchRows = 4 * kFetchRows;

template <typename Decoder>
inline Int dot_broadcast(Int acc, Int w, const std::int32_t* x) {
  if constexpr (requires { Decoder::dot_inside(acc, w, x); }) {
    return Decoder::dot_inside(acc, w, x);
  } else {
    return Decoder::dot(acc, w, VectorSet::broadcast(x));
  }
}

// Adds rows `begin` to `end`, as groups of k, to the accumulators; kFirstUse as in multiply_rows.
template <int kUnits, int kTokens, bool kFirstUse>
inline void multiply_groups(const IntDecoder& decoder, const std::uint8_t* (&unit)[kCount<kUnits>], std::int64_t begin,
                            std::int64_t end, const std::int32_t* x,
                            Int (&acc)[kCount<kUnits>][kCount<kUnitVectors<IntDecoder>>][kCount<kTokens>]) {
  constexpr int kVectors = kUnitVectors<IntDecoder>;
  constexpr int kBytes = kIntGroup * static_cast<int>(kPanelBytes);
  for (std::int64_t g = begin / kIntGroup; g < end / kIntGroup; ++g) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
      const std::uint8_t* p = unit[u] + g * kBytes;
      if constexpr (kFirstUse) {
#pragma GCC unroll 2
        for (int line = 0; line < kBytes; line += 64) VectorSet::prefetch_l1(p + kFetchRows * kPanelBytes + line);
      }
      Int w[kCount<kVectors>];
      decoder.decode(p, w);
      const std::int32_t* value = apart(x + g * kTokens);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[u][v][t] = dot_broadcast<IntDecoder>(acc[u][v][t], w[v], value + t);
      }
    }
  }
}

template <int kUnits, int kTokens>
void in_place_int_tile(const Tile& tile) {
  constexpr int kVectors = kUnitVectors<IntDecoder>;
  const std::uint8_t* unit[kCount<kUnits>];
  unit_pointers<IntDecoder, kUnits>(tile.weight, tile.panel_stride, unit);
  const IntDecoder decoder;
  const auto* x = static_cast<const std::int32_t*>(tile.x);
  const std::int64_t groups = tile.k / kIntGroup;
  Int acc[kCount<kUnits>][kCount<kVectors>][kCount<kTokens>];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
    const Int start = VectorSet::broadcast(x + groups * kTokens + t);
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[u][v][t] = start;
    }
  }
  Fetcher fetcher = *tile.fetcher;
  for (std::int64_t k = 0; k < tile.k; k += kIntFetchRows) {
    const std::int64_t end = k + kIntFetchRows < tile.k ? k + kIntFetchRows : tile.k;
    fetcher.step();
    if (tile.first_use) {
      multiply_groups<kUnits, kTokens, true>(decoder, unit, k, end, x, acc);
    } else {
      multiply_groups<kUnits, kTokens, false>(decoder, unit, k, end, x, acc);
    }
  }
  *tile.fetcher = fetcher;
#pragma GCC unroll 8
  for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      std::int32_t* c = static_cast<std::int32_t*>(tile.c) + t * tile.ldc + u * IntDecoder::kColumns;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) put(c + v * kWidth, acc[u][v][t], tile.accumulate);
    }
  }
}

// What a panel tile takes at a time: a group of rows.
struct IntStep {
  using Word = std::int32_t;
  using Result = std::int32_t;
  using Vector = Int;
  using Sum = Int;
  static constexpr std::int64_t kRows = kIntGroup;

  // The correction of token t, behind the group's words.
  static Sum start(const Word* x, std::int64_t steps, int tokens, int t) {
    return VectorSet::broadcast(x + steps * tokens + t);
  }
  static Vector left(const Word* x) { return VectorSet::broadcast(x); }
  static Sum multiply(Sum sum, Vector w, Vector x) { return IntDecoder::dot(sum, w, x); }
};

}  // namespace
}  // namespace mla_prolog::kernels
