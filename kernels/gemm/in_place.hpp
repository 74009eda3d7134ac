// GemmFunctions::in_place: streams the weights where they lie, the widest register tile that fits the group of tokens.
// Included once per instruction set, after its set_*.hpp.
#pragma once

#include <utility>

#include "kernels/gemm/operands.hpp"

namespace mla_prolog::kernels {
namespace {

template <typename Type>
constexpr int kMaxGroup = Type::kInt ? 12 : 8;

template <typename Type>
constexpr int kMaxInPlaceTokens = static_cast<int>(min_of(kMaxGroup<Type>, Type::Decoder::kAccumulators /
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

template <typename Type>
void in_place(const GemmArgs& args) {
  using Decoder = typename Type::Decoder;
  constexpr int kPerPanel = units_per_panel<Decoder, kElementBytes<Decoder>>();
  const std::int64_t units = args.columns / Decoder::kColumns;
  // The widest step of the first (largest) group; a smaller last group follows with the same columns.
  const std::int64_t step = kInPlaceTable<Type>.rows[min_of(args.group, args.tokens) - 1].units;
  const std::int64_t blocks = args.k / kMxBlockLength;
  const std::int64_t groups = (args.tokens + args.group - 1) / args.group;
  constexpr std::int64_t kRows = Type::kInt ? kIntFetchRows : kFetchRows;
  Fetcher fetcher(args.next, (units + step - 1) / step * groups * ((args.k + kRows - 1) / kRows));
  const ScaleRange x_range = x_scale_range<Type>(args);
  bool moderate = false;
  const auto units_from = [&](std::int64_t unit) {
    return args.weight + (unit / kPerPanel) * args.panel_stride + (unit % kPerPanel) * Decoder::kColumns;
  };
  for (std::int64_t u0 = 0; u0 < units; u0 += step) {
    const std::int64_t u1 = min_of(units, u0 + step);
    const std::int64_t columns = (u1 - u0) * Decoder::kColumns;
    auto* scales = static_cast<float*>(args.scratch);
    if constexpr (Type::kMx) {
      expand_scales(args.weight_scales + u0 * Decoder::kColumns * args.weight_scale_stride, args.weight_scale_stride,
                    columns, blocks, scales);
      ScaleRange weight_range;
      weight_range.add(scales, blocks * columns);
      moderate = moderate_scales(x_range, weight_range);
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
        tile.k = args.k;
        tile.x = x;
        tile.c = static_cast<std::uint32_t*>(args.c) + first * args.ldc + u * Decoder::kColumns;
        tile.ldc = args.ldc;
        tile.accumulate = args.accumulate;
        tile.weight_scales = scales + (u - u0) * Decoder::kColumns;
        tile.scale_columns = columns;
        tile.moderate_scales = moderate;
        tile.fetcher = &fetcher;
        tile.first_use = first == 0;
        (now == row.units ? row.most : (now == 2 ? row.two : row.one))(tile);
        u += now;
      }
      x += tokens * words_per_token<Type>(args.k);
    }
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
