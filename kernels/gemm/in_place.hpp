// GemmFunctions::in_place: streams the weights where they lie, the widest register tile that fits the group of tokens.
// Included once per instruction set, after its set_*.hpp.
#pragma once

#include <utility>

#include "kernels/gemm/operands.hpp"

namespace mla_prolog::kernels {
namespace {

constexpr int kMaxGroup = 12;

template <typename Type>
constexpr int kMaxInPlaceTokens = static_cast<int>(min_of(kMaxGroup, Type::Decoder::kAccumulators /
                                                                         kUnitVectors<typename Type::Decoder>));

// How many units stand side by side with this many tokens.
template <typename Type>
constexpr int units_at_once(int tokens) {
  using Decoder = typename Type::Decoder;
  constexpr int kPerPanel = units_per_panel<Decoder, kElementBytes<Decoder>>();
  const int most = Decoder::kAccumulators / (kUnitVectors<Decoder> * tokens);
  // A step begins on a panel or stays inside one.
  if (kPerPanel == 4) return most >= 4 ? 4 : (most >= 2 ? 2 : 1);
  if (most >= 6) return 6;
  if (most >= 4 && kElementBytes<Decoder> == 2) return 4;
  if (most >= 3 && kPerPanel == 1) return 3;
  return most >= 2 ? 2 : 1;
}

template <typename Type, int kUnits, int kTokens>
constexpr TileFunction in_place_function() {
  if constexpr (Type::kInt) {
    return &in_place_int_tile<kUnits, kTokens>;
  } else if constexpr (Type::kMx) {
    return &in_place_mx_tile<typename Type::Decoder, kUnits, kTokens>;
  } else {
    return &in_place_tile<typename Type::Decoder, kUnits, kTokens>;
  }
}

// All units at once, two (where that is fewer), one.
struct InPlaceRow {
  TileFunction most, two, one;
  int units;
};

template <typename Type, int kTokens>
constexpr InPlaceRow in_place_row() {
  constexpr int kUnits = units_at_once<Type>(kTokens);
  constexpr int kTwo = kUnits < 2 ? kUnits : 2;
  return {in_place_function<Type, kUnits, kTokens>(), in_place_function<Type, kTwo, kTokens>(),
          in_place_function<Type, 1, kTokens>(), kUnits};
}

template <int kRows>
struct InPlaceTable {
  InPlaceRow rows[kCount<kRows>];
};

template <typename Type, int... kIndex>
constexpr InPlaceTable<sizeof...(kIndex)> make_in_place_table(std::integer_sequence<int, kIndex...>) {
  return {{in_place_row<Type, kIndex + 1>()...}};
}

template <typename Type>
constexpr auto kInPlaceTable = make_in_place_table<Type>(std::make_integer_sequence<int, kMaxInPlaceTokens<Type>>());

template <typename Type>
constexpr std::int64_t kCBytes = 4;

// One range of k of a call of `in_place`.
struct RowRange {
  std::int64_t begin, end;
  bool resume;  // C holds the sums of the rows before
  bool last;
};

template <typename Type>
void in_place_rows(const GemmArgs& args, const RowRange& rows) {
  using Decoder = typename Type::Decoder;
  constexpr int kPerPanel = units_per_panel<Decoder, kElementBytes<Decoder>>();
  const std::int64_t units = args.columns / Decoder::kColumns;
  // The widest step of the first (largest) group; a smaller last group follows with the same columns.
  const std::int64_t step = kInPlaceTable<Type>.rows[min_of(args.group, args.tokens) - 1].units;
  const std::int64_t blocks = args.k / kMxBlockLength;
  const bool strided = args.row_stride != kPanelBytes;
  const auto units_from = [&](std::int64_t unit) {
    return args.weight + rows.begin * args.row_stride + (unit / kPerPanel) * args.panel_stride +
           (unit % kPerPanel) * Decoder::kColumns;
  };
  for (std::int64_t u0 = 0; u0 < units; u0 += step) {
    const std::int64_t u1 = min_of(units, u0 + step);
    const std::int64_t columns = (u1 - u0) * Decoder::kColumns;
    auto* scales = static_cast<float*>(args.scratch);
    if constexpr (Type::kMx) {
      expand_scales(args.weight_scales + u0 * Decoder::kColumns * args.weight_scale_stride, args.weight_scale_stride,
                    columns, blocks, scales);
    }
    const auto* x = static_cast<const std::uint32_t*>(args.x);
    for (std::int64_t first = 0; first < args.tokens; first += args.group) {
      const std::int64_t tokens = min_of(args.group, args.tokens - first);
      const InPlaceRow& row = kInPlaceTable<Type>.rows[tokens - 1];
      for (std::int64_t u = u0; u < u1;) {
        const std::int64_t left = u1 - u;
        const std::int64_t now = left >= row.units ? row.units : (left >= 2 && row.units > 2 ? 2 : 1);
        Tile tile{};
        tile.weight = units_from(u);
        tile.panel_stride = args.panel_stride;
        tile.row_stride = args.row_stride;
        tile.k = rows.end - rows.begin;
        tile.x = x + rows.begin * tokens;
        tile.c = static_cast<std::uint32_t*>(args.c) + first * args.ldc + u * Decoder::kColumns;
        tile.ldc = args.ldc;
        tile.accumulate = args.accumulate;
        tile.resume = rows.resume;
        tile.weight_scales = scales + (u - u0) * Decoder::kColumns;
        tile.scale_columns = columns;
        // The last group of tokens fetches the next columns while it multiplies; the first finds its own there. Strided
        // rows fetch the next block of rows instead, and after the last one what the caller says.
        tile.fetched = first > 0;
        if (first + tokens >= args.tokens && (!strided || rows.last)) {
          const bool last = u + now >= units;
          tile.next = last ? args.next.data : units_from(u + now);
          tile.next_panel_stride = last ? args.next.panel_stride : args.panel_stride;
          tile.next_row_stride = last ? args.next.row_stride : args.row_stride;
        }
        (now == row.units ? row.most : (now == 2 ? row.two : row.one))(tile);
        u += now;
      }
      x += tokens * words_per_token<Type>(args.k);
    }
  }
}

template <typename Type>
void in_place(const GemmArgs& args) {
  if constexpr (!Type::kInt && !Type::kMx) {
    if (args.row_stride != kPanelBytes && !args.accumulate) {
      for (std::int64_t k = 0; k < args.k; k += kStridedRows) {
        const std::int64_t end = min_of(args.k, k + kStridedRows);
        in_place_rows<Type>(args, {k, end, k > 0, end == args.k});
      }
      return;
    }
  }
  in_place_rows<Type>(args, {0, args.k, false, true});
}

}  // namespace
}  // namespace mla_prolog::kernels
