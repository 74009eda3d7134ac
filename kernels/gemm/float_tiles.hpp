// Register tiles of the float32 matmuls, and the panel tile of all, over the words of one instruction set (VectorSet
// and the decoders of set_*.hpp, which must be included first). One k chunk per call.
#pragma once

#include "kernels/gemm/fetcher.hpp"
#include "kernels/gemm/mx_scales.hpp"

namespace mla_prolog::kernels {
namespace {

constexpr int kWidth = VectorSet::kWidth;

// Array bounds out of template arguments.
template <int kValue>
constexpr std::size_t kCount = kValue;

// One tile's operands. Columns are counted in units of the decoder; kUnitsPerPanel of them make a panel.
struct Tile {
  const std::uint8_t* weight;
  std::ptrdiff_t panel_stride;
  std::ptrdiff_t row_stride;
  std::int64_t k;
  const void* x;  // [k][tokens]
  void* c;
  std::int64_t ldc;
  bool accumulate;
  const float* weight_scales;  // mx: [k/32][scale_columns], of the tile's first column
  std::int64_t scale_columns;
  bool moderate_scales;  // mx: see moderate_scales()
  Fetcher* fetcher;      // what to fetch meanwhile for the calls after this one
  bool first_use;        // in place: of the weights, which are not in the first-level cache
};

template <typename Decoder, int kBytes>
constexpr int units_per_panel() {
  return static_cast<int>(kPanelBytes) / (Decoder::kColumns * kBytes);
}

// Weight bytes per element.
template <typename Decoder>
constexpr int kElementBytes = 1;
template <>
constexpr int kElementBytes<Bf16Decoder> = 2;

template <typename Decoder>
constexpr int kUnitVectors = Decoder::kColumns / kWidth;

template <typename Decoder, int kUnits>
inline void unit_pointers(const std::uint8_t* weight, std::ptrdiff_t panel_stride,
                          const std::uint8_t* (&unit)[kCount<kUnits>]) {
  constexpr int kPerPanel = units_per_panel<Decoder, kElementBytes<Decoder>>();
  for (int u = 0; u < kUnits; ++u) {
    unit[u] = weight + (u / kPerPanel) * panel_stride + (u % kPerPanel) * Decoder::kColumns;
  }
}

inline void put(float* c, Float sum, bool accumulate) {
  VectorSet::store(c, accumulate ? VectorSet::add(VectorSet::load(c), sum) : sum);
}
inline void put(std::int32_t* c, VectorSet::Int sum, bool accumulate) {
  VectorSet::store(c, accumulate ? VectorSet::add(VectorSet::load(c), sum) : sum);
}

// The same address as one that the compiler cannot know, so that it broadcasts from it anew: to one instruction that
// can do so itself, or at least without keeping all broadcasts in registers that the accumulators need.
template <typename T>
inline const T* apart(const T* p) {
  asm volatile("" : "+r"(p));
  return p;
}

// Adds kFetchRows rows to the accumulators. kFirstUse: each row is missed in the first-level cache, unless the rows
// after these are brought there meanwhile.
template <typename Decoder, int kUnits, int kTokens, bool kFirstUse>
inline void multiply_rows(const Decoder& decoder, const std::uint8_t* (&unit)[kCount<kUnits>],
                          std::ptrdiff_t row_stride, std::int64_t k_begin, const float* x,
                          Float (&acc)[kCount<kUnits>][kCount<kUnitVectors<Decoder>>][kCount<kTokens>]) {
  constexpr int kVectors = kUnitVectors<Decoder>;
#pragma GCC unroll 2
  for (std::int64_t k = k_begin; k < k_begin + kFetchRows; ++k) {
    const std::ptrdiff_t row = k * row_stride;
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
      if constexpr (kFirstUse) VectorSet::prefetch_l1(unit[u] + row + kFetchRows * row_stride);
      Float w[kCount<kVectors>];
      decoder.decode(unit[u] + row, w);
      const float* value[kCount<kVectors>];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        value[v] = v == 0 || VectorSet::kBroadcastsInside ? apart(x + k * kTokens) : value[0];
      }
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          acc[u][v][t] = VectorSet::fma(w[v], VectorSet::broadcast(value[v] + t), acc[u][v][t]);
        }
      }
    }
  }
}

template <typename Decoder, int kUnits, int kTokens>
void in_place_tile(const Tile& tile) {
  constexpr int kVectors = kUnitVectors<Decoder>;
  const std::uint8_t* unit[kCount<kUnits>];
  unit_pointers<Decoder, kUnits>(tile.weight, tile.panel_stride, unit);
  const Decoder decoder;
  Fetcher fetcher = *tile.fetcher;
  Float acc[kCount<kUnits>][kCount<kVectors>][kCount<kTokens>];
#pragma GCC unroll 8
  for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) acc[u][v][t] = VectorSet::zero();
    }
  }
  const auto* x = static_cast<const float*>(tile.x);
  for (std::int64_t k = 0; k < tile.k; k += kFetchRows) {
    fetcher.step();
    if (tile.first_use) {
      multiply_rows<Decoder, kUnits, kTokens, true>(decoder, unit, tile.row_stride, k, x, acc);
    } else {
      multiply_rows<Decoder, kUnits, kTokens, false>(decoder, unit, tile.row_stride, k, x, acc);
    }
  }
  *tile.fetcher = fetcher;
#pragma GCC unroll 8
  for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      Float sum[kCount<kVectors>];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[v] = acc[u][v][t];
      Decoder::restore(sum);
      float* c = static_cast<float*>(tile.c) + t * tile.ldc + u * Decoder::kColumns;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) put(c + v * kWidth, sum[v], tile.accumulate);
    }
  }
}

template <typename Decoder, int kUnits, int kTokens>
void in_place_mx_tile(const Tile& tile) {
  constexpr int kVectors = kUnitVectors<Decoder>;
  constexpr int kColumns = kUnits * Decoder::kColumns;
  const std::uint8_t* unit[kCount<kUnits>];
  unit_pointers<Decoder, kUnits>(tile.weight, tile.panel_stride, unit);
  const Decoder decoder;
  Fetcher fetcher = *tile.fetcher;
  const auto* x = static_cast<const float*>(tile.x);
  const float* x_scale = x + tile.k * kTokens;
  alignas(64) float chunk[kCount<kTokens>][kCount<kColumns>];
  for (auto& row : chunk) {
    for (int j = 0; j < kColumns; j += kWidth) VectorSet::store(row + j, VectorSet::zero());
  }
  for (std::int64_t block = 0; block < tile.k / kMxBlockLength; ++block) {
    Float acc[kCount<kUnits>][kCount<kVectors>][kCount<kTokens>];
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 16
        for (int t = 0; t < kTokens; ++t) acc[u][v][t] = VectorSet::zero();
      }
    }
    for (std::int64_t k = block * kMxBlockLength; k < (block + 1) * kMxBlockLength; k += kFetchRows) {
      fetcher.step();
      if (tile.first_use) {
        multiply_rows<Decoder, kUnits, kTokens, true>(decoder, unit, tile.row_stride, k, x, acc);
      } else {
        multiply_rows<Decoder, kUnits, kTokens, false>(decoder, unit, tile.row_stride, k, x, acc);
      }
    }
    const float* weight_scale = tile.weight_scales + block * tile.scale_columns;
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        Float sum[kCount<kVectors>];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[v] = acc[u][v][t];
        Decoder::restore(sum);
        const Float a = VectorSet::broadcast(x_scale + block * kTokens + t);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const int column = u * Decoder::kColumns + v * kWidth;
          const Float b = VectorSet::load(weight_scale + column);
          const Float before = VectorSet::load(chunk[t] + column);
          VectorSet::store(chunk[t] + column, add_block(before, sum[v], a, b, tile.moderate_scales));
        }
      }
    }
  }
  *tile.fetcher = fetcher;
  for (int t = 0; t < kTokens; ++t) {
    for (int j = 0; j < kColumns; j += kWidth) {
      put(static_cast<float*>(tile.c) + t * tile.ldc + j, VectorSet::load(chunk[t] + j), tile.accumulate);
    }
  }
}

// What a panel tile takes at a time: one row, as float32.
struct FloatStep {
  using Word = float;    // of panels, left operands
  using Result = float;  // of C
  using Vector = Float;
  using Sum = Float;
  static constexpr std::int64_t kRows = 1;

  // Of token t, whose group's words begin at x.
  static Sum start(const Word*, std::int64_t, int, int) { return VectorSet::zero(); }
  // What all vectors of a panel's row are multiplied by.
  static Vector left(const Word* x) { return VectorSet::broadcast(x); }
  static Sum multiply(Sum sum, Vector w, Vector x) { return VectorSet::fma(w, x, sum); }
};

// A decoded panel [k / kRows][kVectors * width] times [k / kRows][kTokens].
template <typename Step, int kVectors, int kTokens>
void panel_tile(const Tile& tile) {
  using Word = typename Step::Word;
  const auto* w = reinterpret_cast<const Word*>(tile.weight);
  const auto* x = static_cast<const Word*>(tile.x);
  typename Step::Sum acc[kCount<kTokens>][kCount<kVectors>];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    const typename Step::Sum start = Step::start(x, tile.k / Step::kRows, kTokens, t);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[t][v] = start;
  }
  Fetcher fetcher = *tile.fetcher;
  for (std::int64_t k = 0; k < tile.k; k += kFetchRows) {
    fetcher.step();
    // Unrolled, few steps would want more registers than there are.
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < kFetchRows / Step::kRows; ++i) {
      typename Step::Vector weight[kCount<kVectors>];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) weight[v] = VectorSet::load(w + v * kWidth);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const auto left = Step::left(x + t);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) acc[t][v] = Step::multiply(acc[t][v], weight[v], left);
      }
      w += kVectors * kWidth;
      x += kTokens;
    }
  }
  *tile.fetcher = fetcher;
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      put(static_cast<typename Step::Result*>(tile.c) + t * tile.ldc + v * kWidth, acc[t][v], tile.accumulate);
    }
  }
}

template <int kVectors, int kTokens, bool kModerate>
inline void panel_mx_blocks(const Tile& tile, float (&chunk)[kCount<kTokens>][kCount<kVectors> * kWidth]) {
  const auto* w = reinterpret_cast<const float*>(tile.weight);
  const auto* x = static_cast<const float*>(tile.x);
  const float* x_scale = x + tile.k * kTokens;
  const float* weight_scale = tile.weight_scales;
  for (std::int64_t block = 0; block < tile.k / kMxBlockLength; ++block) {
    Float acc[kCount<kTokens>][kCount<kVectors>];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[t][v] = VectorSet::zero();
    }
    for (std::int64_t i = 0; i < kMxBlockLength; ++i) {
      if (i % kFetchRows == 0) tile.fetcher->step();
      Float weight[kCount<kVectors>];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) weight[v] = VectorSet::load(w + v * kWidth);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const Float value = VectorSet::broadcast(x + t);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) acc[t][v] = VectorSet::fma(weight[v], value, acc[t][v]);
      }
      w += kVectors * kWidth;
      x += kTokens;
    }
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const Float a = VectorSet::broadcast(x_scale + t);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const Float b = VectorSet::load(weight_scale + v * kWidth);
        const Float before = VectorSet::load(chunk[t] + v * kWidth);
        VectorSet::store(chunk[t] + v * kWidth, add_block(before, acc[t][v], a, b, kModerate));
      }
    }
    x_scale += kTokens;
    weight_scale += kVectors * kWidth;
  }
}

template <int kVectors, int kTokens>
void panel_mx_tile(const Tile& tile) {
  alignas(64) float chunk[kCount<kTokens>][kCount<kVectors> * kWidth];
  for (auto& row : chunk) {
    for (int v = 0; v < kVectors; ++v) VectorSet::store(row + v * kWidth, VectorSet::zero());
  }
  if (tile.moderate_scales) {
    panel_mx_blocks<kVectors, kTokens, true>(tile, chunk);
  } else {
    panel_mx_blocks<kVectors, kTokens, false>(tile, chunk);
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      put(static_cast<float*>(tile.c) + t * tile.ldc + v * kWidth, VectorSet::load(chunk[t] + v * kWidth),
          tile.accumulate);
    }
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
