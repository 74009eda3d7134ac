// Register tiles of the float32 matmuls, over the words of one instruction set (VectorSet and the decoders of
// set_*.hpp, which must be included first). One k chunk per call.
#pragma once

#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::kernels {
namespace {

using Float = VectorSet::Float;

constexpr int kWidth = VectorSet::kWidth;

// Array bounds out of template arguments.
template <int kValue>
constexpr std::size_t kCount = kValue;
constexpr std::int64_t kPanelBytes = 32;
constexpr std::int64_t kMxBlockLength = 32;

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
  bool moderate_scales;  // mx panels: see moderate_scales()
  // In place: what the tile after this one reads, laid out like this one's panels; and whether this tile's own weights
  // have been fetched already, so that it has the time to fetch those.
  const std::uint8_t* next;
  std::ptrdiff_t next_panel_stride;
  std::ptrdiff_t next_row_stride;
  bool fetched;
  bool resume;  // in place, floats: C holds this chunk's sums so far
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

// What to prefetch beside row k of a tile: base[unit] + k * row_stride.
// kNext: of the next tile, into the second-level cache, since this tile's rows may need all of the first.
template <int kUnits, bool kNext>
struct Ahead {
  const std::uint8_t* base[kCount<kUnits>];
  std::ptrdiff_t row_stride;

  void fetch(int unit, std::ptrdiff_t offset) const {
    if constexpr (kNext) {
      VectorSet::prefetch_l2(base[unit] + offset);
    } else {
      VectorSet::prefetch(base[unit] + offset);
    }
  }
};

// Weights are fetched about 500 cycles before they are used: `kCyclesPerRow` is what a row of the tile takes in
// registers, and six cycles per 32 bytes what memory takes to deliver it.
template <int kUnits, int kCyclesPerRow>
constexpr std::int64_t kRowsAhead = [] {
  constexpr int kCycles = kCyclesPerRow > 6 * kUnits ? kCyclesPerRow : 6 * kUnits;
  constexpr int kRows = 512 / kCycles / 4 * 4;
  return kRows < 32 ? 32 : (kRows > 96 ? 96 : kRows);
}();
// Rows that do not follow one another (a row-major matrix) are taken in blocks of this many, all columns of a block
// before the next, so that memory is read in its order.
constexpr std::int64_t kStridedRows = 16;

// Rows [0, split) of a tile prefetch its own later rows, rows [split, k) the beginning of the next tile.
template <typename Decoder, int kUnits, int kCyclesPerRow>
struct FetchPlan {
  std::int64_t split;
  Ahead<kUnits, false> own;
  Ahead<kUnits, true> next;

  FetchPlan(const Tile& tile, const std::uint8_t* (&unit)[kCount<kUnits>]) {
    const std::int64_t rows = tile.row_stride == kPanelBytes ? kRowsAhead<kUnits, kCyclesPerRow> : kStridedRows;
    const bool has_next = tile.next != nullptr;
    if (!has_next) {
      split = tile.k;
    } else if (tile.fetched) {
      split = 0;
    } else {
      split = tile.k > rows ? (tile.k - rows) / kMxBlockLength * kMxBlockLength : 0;
    }
    own.row_stride = tile.row_stride;
    next.row_stride = tile.next_row_stride;
    unit_pointers<Decoder, kUnits>(has_next ? tile.next : tile.weight, tile.next_panel_stride, next.base);
    for (int u = 0; u < kUnits; ++u) {
      own.base[u] = unit[u] + rows * tile.row_stride;
      next.base[u] -= split * tile.next_row_stride;
    }
  }
};

inline void put(float* c, Float sum, bool accumulate) {
  VectorSet::store(c, accumulate ? VectorSet::add(VectorSet::load(c), sum) : sum);
}

// Adds k rows to the accumulators.
template <typename Decoder, int kUnits, int kTokens, bool kNext>
inline void multiply_rows(const Decoder& decoder, const std::uint8_t* (&unit)[kCount<kUnits>],
                          std::ptrdiff_t row_stride, const Ahead<kUnits, kNext>& ahead, std::int64_t k_begin,
                          std::int64_t k_end, const float* x,
                          Float (&acc)[kCount<kUnits>][kCount<kUnitVectors<Decoder>>][kCount<kTokens>]) {
  constexpr int kVectors = kUnitVectors<Decoder>;
#pragma GCC unroll 2
  for (std::int64_t k = k_begin; k < k_end; ++k) {
    const std::ptrdiff_t row = k * row_stride;
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
      const std::uint8_t* p = unit[u] + row;
      ahead.fetch(u, k * ahead.row_stride);
      Float w[kCount<kVectors>];
      decoder.decode(p, w);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const Float value = VectorSet::broadcast(x + k * kTokens + t);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[u][v][t] = VectorSet::fma(w[v], value, acc[u][v][t]);
      }
    }
  }
}

template <typename Decoder, int kUnits, int kTokens>
void in_place_tile(const Tile& tile) {
  constexpr int kVectors = kUnitVectors<Decoder>;
  const std::uint8_t* unit[kCount<kUnits>];
  unit_pointers<Decoder, kUnits>(tile.weight, tile.panel_stride, unit);
  constexpr int kCyclesPerRow = kUnits * kVectors * kTokens * kWidth / 16;
  const FetchPlan<Decoder, kUnits, kCyclesPerRow> plan(tile, unit);
  const Decoder decoder;
  Float acc[kCount<kUnits>][kCount<kVectors>][kCount<kTokens>];
#pragma GCC unroll 8
  for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) acc[u][v][t] = VectorSet::zero();
    }
  }
  if (tile.resume) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const float* c = static_cast<const float*>(tile.c) + t * tile.ldc + u * Decoder::kColumns;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[u][v][t] = VectorSet::load(c + v * kWidth);
      }
    }
  }
  const auto* x = static_cast<const float*>(tile.x);
  multiply_rows<Decoder, kUnits, kTokens>(decoder, unit, tile.row_stride, plan.own, 0, plan.split, x, acc);
  multiply_rows<Decoder, kUnits, kTokens>(decoder, unit, tile.row_stride, plan.next, plan.split, tile.k, x, acc);
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

// block * a * b with one rounding, for E8M0 values a and b and a sum of E4M3 products, which is a multiple of 2^-18 and
// below 2^23. The smaller factor never rounds (the product stays a multiple of 2^-145), and where it overflows the
// result does too; the factor a * b, which may lie outside float32, is never formed. NaN in either comes through.
inline Float mx_scale(Float block, Float a, Float b) {
  return VectorSet::mul(VectorSet::mul(block, VectorSet::min(a, b)), VectorSet::max(b, a));
}

template <typename Decoder, int kUnits, int kTokens>
void in_place_mx_tile(const Tile& tile) {
  constexpr int kVectors = kUnitVectors<Decoder>;
  constexpr int kColumns = kUnits * Decoder::kColumns;
  const std::uint8_t* unit[kCount<kUnits>];
  unit_pointers<Decoder, kUnits>(tile.weight, tile.panel_stride, unit);
  constexpr int kCyclesPerRow = kUnits * kVectors * kTokens * kWidth / 16;
  const FetchPlan<Decoder, kUnits, kCyclesPerRow> plan(tile, unit);
  const Decoder decoder;
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
    const std::int64_t k = block * kMxBlockLength;
    if (k < plan.split) {
      multiply_rows<Decoder, kUnits, kTokens>(decoder, unit, tile.row_stride, plan.own, k, k + kMxBlockLength, x, acc);
    } else {
      multiply_rows<Decoder, kUnits, kTokens>(decoder, unit, tile.row_stride, plan.next, k, k + kMxBlockLength, x, acc);
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
          const Float scaled = mx_scale(sum[v], a, VectorSet::load(weight_scale + column));
          VectorSet::store(chunk[t] + column, VectorSet::add(VectorSet::load(chunk[t] + column), scaled));
        }
      }
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int j = 0; j < kColumns; j += kWidth) {
      put(static_cast<float*>(tile.c) + t * tile.ldc + j, VectorSet::load(chunk[t] + j), tile.accumulate);
    }
  }
}

// A decoded panel [k][kVectors * width] times [k][kTokens].
template <int kVectors, int kTokens>
void panel_tile(const Tile& tile) {
  const auto* w = reinterpret_cast<const float*>(tile.weight);
  const auto* x = static_cast<const float*>(tile.x);
  Float acc[kCount<kTokens>][kCount<kVectors>];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[t][v] = VectorSet::zero();
  }
  for (std::int64_t k = 0; k < tile.k; ++k) {
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
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      put(static_cast<float*>(tile.c) + t * tile.ldc + v * kWidth, acc[t][v], tile.accumulate);
    }
  }
}

// Lowest and highest of scales; NaN in either where one is NaN.
struct ScaleRange {
  float low = 1.0F;
  float high = 1.0F;

  void add(const float* scales, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(scales[i] >= low)) low = scales[i];
      if (!(scales[i] <= high)) high = scales[i];
    }
  }
};

// Whether a * b is a normal number and block * (a * b) exact for every pair of scales: then fma(block, a * b, chunk) is
// mx_scale and the addition after it. a * b at least 2^-126 and at most 2^104 suffices.
inline bool moderate_scales(const ScaleRange& a, const ScaleRange& b) {
  return a.low * b.low >= 0x1p-126F && a.high * b.high <= 0x1p104F;
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
        const Float sum = VectorSet::load(chunk[t] + v * kWidth);
        VectorSet::store(chunk[t] + v * kWidth, kModerate ? VectorSet::fma(acc[t][v], VectorSet::mul(a, b), sum)
                                                          : VectorSet::add(sum, mx_scale(acc[t][v], a, b)));
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
