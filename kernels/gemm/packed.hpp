// GemmFunctions::packed: decodes weights into panels of whole vectors, and uses a panel for all groups of tokens.
// Included once per instruction set, after its set_*.hpp.
#pragma once

#include <utility>

#include "kernels/gemm/operands.hpp"

namespace mla_prolog::kernels {
namespace {

constexpr std::int64_t kPanelColumns = VectorSet::kPanelVectors * kWidth;
constexpr int kPanelTokens = VectorSet::kPanelTokens;

// Columns that are decoded together: whole panels of both kinds.
template <typename Type>
constexpr std::int64_t kBatchColumns = max_of(kPanelColumns, kPanelBytes / kElementBytes<typename Type::Decoder>);

template <typename Type>
std::size_t scratch_bytes(std::int64_t k) {
  std::int64_t words = kBatchColumns<Type> * (Type::kInt ? k / kIntGroup : k);
  if (Type::kMx) words += max_of(kBatchColumns<Type>, 6 * Type::Decoder::kColumns) * (k / kMxBlockLength);
  return static_cast<std::size_t>(words) * 4;
}

// k rows that one step of a decoder takes.
template <typename Type>
constexpr std::int64_t kStepRows = [] {
  if constexpr (Type::kInt) return std::int64_t{kIntGroup};
  return std::int64_t{1};
}();

// Decodes kUnits units from `unit` on; `columns` is the width of the whole batch, which lies at `out` as panels of up
// to kPanelColumns, one after another.
template <typename Type, int kUnits, typename Word>
void pack_units(const std::uint8_t* weight, std::ptrdiff_t panel_stride, std::ptrdiff_t row_stride, std::int64_t unit,
                std::int64_t columns, std::int64_t steps, Word* out) {
  using Decoder = typename Type::Decoder;
  constexpr int kPerPanel = units_per_panel<Decoder, kElementBytes<Decoder>>();
  constexpr int kVectors = kUnitVectors<Decoder>;
  const Decoder decoder;
  const std::uint8_t* source[kCount<kUnits>];
  Word* target[kCount<kUnits>][kCount<kVectors>];
  std::int64_t width[kCount<kUnits>][kCount<kVectors>];
  for (int i = 0; i < kUnits; ++i) {
    const std::int64_t u = unit + i;
    source[i] = weight + (u / kPerPanel) * panel_stride + (u % kPerPanel) * Decoder::kColumns;
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t column = u * Decoder::kColumns + v * kWidth;
      const std::int64_t panel = column / kPanelColumns;
      // A whole batch has whole panels only.
      width[i][v] = kUnits > 1 ? kPanelColumns : min_of(kPanelColumns, columns - panel * kPanelColumns);
      target[i][v] = out + panel * kPanelColumns * steps + column % kPanelColumns;
    }
  }
  for (std::int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 4
    for (int i = 0; i < kUnits; ++i) {
      const std::uint8_t* p = source[i] + s * kStepRows<Type> * row_stride;
      if constexpr (Type::kInt) {
        Int w[kCount<kVectors>];
        decoder.decode(p, w);
        for (int v = 0; v < kVectors; ++v) VectorSet::store(target[i][v] + s * width[i][v], w[v]);
      } else {
        Float w[kCount<kVectors>];
        decoder.decode(p, w);
        Decoder::restore(w);
        for (int v = 0; v < kVectors; ++v) VectorSet::store(target[i][v] + s * width[i][v], w[v]);
      }
    }
  }
}

template <typename Type, typename Word>
void pack_panels(const std::uint8_t* weight, std::ptrdiff_t panel_stride, std::ptrdiff_t row_stride,
                 std::int64_t columns, std::int64_t k, Word* out) {
  constexpr std::int64_t kUnits = kBatchColumns<Type> / Type::Decoder::kColumns;
  const std::int64_t steps = k / kStepRows<Type>;
  if (columns == kBatchColumns<Type>) {
    pack_units<Type, static_cast<int>(kUnits)>(weight, panel_stride, row_stride, 0, columns, steps, out);
    return;
  }
  for (std::int64_t u = 0; u < columns / Type::Decoder::kColumns; ++u) {
    pack_units<Type, 1>(weight, panel_stride, row_stride, u, columns, steps, out);
  }
}

template <typename Type, int kVectors, int kTokens>
constexpr TileFunction panel_function() {
  if constexpr (Type::kInt) {
    return &panel_int_tile<kVectors, kTokens>;
  } else if constexpr (Type::kMx) {
    return &panel_mx_tile<kVectors, kTokens>;
  } else {
    return &panel_tile<kVectors, kTokens>;
  }
}

struct PanelTable {
  TileFunction function[VectorSet::kPanelVectors][kPanelTokens];
};

template <typename Type, int... kIndex>
constexpr PanelTable make_panel_table(std::integer_sequence<int, kIndex...>) {
  PanelTable table{};
  ((table.function[kIndex / kPanelTokens][kIndex % kPanelTokens] =
        panel_function<Type, kIndex / kPanelTokens + 1, kIndex % kPanelTokens + 1>()),
   ...);
  return table;
}

template <typename Type>
constexpr PanelTable kPanelTable =
    make_panel_table<Type>(std::make_integer_sequence<int, VectorSet::kPanelVectors * kPanelTokens>());

template <typename Type>
void packed(const GemmArgs& args) {
  using Decoder = typename Type::Decoder;
  using Word = std::conditional_t<Type::kInt, std::int32_t, float>;
  constexpr std::int64_t kNzColumns = kPanelBytes / kElementBytes<Decoder>;
  const std::int64_t steps = Type::kInt ? args.k / kIntGroup : args.k;
  const std::int64_t blocks = args.k / kMxBlockLength;
  const std::int64_t groups = (args.tokens + args.group - 1) / args.group;
  auto* panels = static_cast<Word*>(args.scratch);
  auto* scales = static_cast<float*>(args.scratch) + kBatchColumns<Type> * steps;
  const ScaleRange x_range = x_scale_range<Type>(args);
  bool moderate = false;
  for (std::int64_t n0 = 0; n0 < args.columns; n0 += kBatchColumns<Type>) {
    const std::int64_t columns = min_of(kBatchColumns<Type>, args.columns - n0);
    const std::uint8_t* weight = args.weight + n0 / kNzColumns * args.panel_stride;
    pack_panels<Type>(weight, args.panel_stride, args.row_stride, columns, args.k, panels);
    GemmPrefetch next = args.next;
    if (n0 + columns < args.columns) {
      next = {weight + columns / kNzColumns * args.panel_stride, args.panel_stride, args.row_stride,
              min_of(kBatchColumns<Type>, args.columns - n0 - columns) / kNzColumns, args.k};
    }
    const std::int64_t panels_of_batch = (columns + kPanelColumns - 1) / kPanelColumns;
    Fetcher fetcher(next, panels_of_batch * groups * (args.k / kFetchRows));
    for (std::int64_t j = 0; j < columns; j += kPanelColumns) {
      const std::int64_t width = min_of(kPanelColumns, columns - j);
      const TileFunction(&functions)[kPanelTokens] = kPanelTable<Type>.function[width / kWidth - 1];
      if constexpr (Type::kMx) {
        expand_scales(args.weight_scales + (n0 + j) * args.weight_scale_stride, args.weight_scale_stride, width, blocks,
                      scales);
        ScaleRange weight_range;
        weight_range.add(scales, blocks * width);
        moderate = moderate_scales(x_range, weight_range);
      }
      const auto* x = static_cast<const std::uint32_t*>(args.x);
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t first = g * args.group;
        const std::int64_t tokens = min_of(args.group, args.tokens - first);
        Tile tile{};
        tile.weight = reinterpret_cast<const std::uint8_t*>(panels + j * steps);
        tile.k = args.k;
        tile.x = x;
        tile.c = static_cast<std::uint32_t*>(args.c) + first * args.ldc + n0 + j;
        tile.ldc = args.ldc;
        tile.accumulate = args.accumulate;
        tile.weight_scales = scales;
        tile.scale_columns = width;
        tile.moderate_scales = moderate;
        tile.fetcher = &fetcher;
        functions[tokens - 1](tile);
        x += tokens * words_per_token<Type>(args.k);
      }
    }
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
