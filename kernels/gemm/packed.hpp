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
  std::int64_t words = kBatchColumns<Type> * (k / Type::Step::kRows);
  if (Type::kMx) words += max_of(kBatchColumns<Type>, 6 * Type::Decoder::kColumns) * (k / kMxBlockLength);
  return static_cast<std::size_t>(words) * 4;
}

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
      const std::uint8_t* p = source[i] + s * Type::Step::kRows * row_stride;
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
  const std::int64_t steps = k / Type::Step::kRows;
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
  if constexpr (Type::kMx) {
    return &panel_mx_tile<kVectors, kTokens>;
  } else {
    return &panel_tile<typename Type::Step, kVectors, kTokens>;
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

// Columns that are decoded together, and what is to be fetched while they are multiplied.
struct Batch {
  std::int64_t n0, columns;
  const std::uint8_t* weight;
  GemmPrefetch next;
};

template <typename Type>
Batch batch_from(const GemmArgs& args, std::int64_t n0) {
  constexpr std::int64_t kNzColumns = kPanelBytes / kElementBytes<typename Type::Decoder>;
  Batch batch{n0, min_of(kBatchColumns<Type>, args.columns - n0), args.weight + n0 / kNzColumns * args.panel_stride,
              args.next};
  const std::int64_t left = args.columns - n0 - batch.columns;
  if (left > 0) {
    batch.next = {batch.weight + batch.columns / kNzColumns * args.panel_stride, args.panel_stride, args.row_stride,
                  min_of(kBatchColumns<Type>, left) / kNzColumns, args.k};
  }
  return batch;
}

// Multiplies a batch that lies in args.scratch as panels of Panel's steps. In the left operand, packed as Type's, what
// Panel reads of a group begins `skipped` words per token behind the group's first.
template <typename Type, typename Panel = Type>
void multiply_batch(const GemmArgs& args, const Batch& batch, const ScaleRange& x_range, std::int64_t skipped = 0) {
  const std::int64_t steps = args.k / Panel::Step::kRows;
  const std::int64_t blocks = args.k / kMxBlockLength;
  const std::int64_t groups = (args.tokens + args.group - 1) / args.group;
  const auto* panels = static_cast<const std::uint32_t*>(args.scratch);
  auto* scales = static_cast<float*>(args.scratch) + kBatchColumns<Type> * steps;
  const std::int64_t panels_of_batch = (batch.columns + kPanelColumns - 1) / kPanelColumns;
  Fetcher fetcher(batch.next, panels_of_batch * groups * (args.k / kFetchRows));
  bool moderate = false;
  for (std::int64_t j = 0; j < batch.columns; j += kPanelColumns) {
    const std::int64_t width = min_of(kPanelColumns, batch.columns - j);
    const TileFunction(&functions)[kPanelTokens] = kPanelTable<Panel>.function[width / kWidth - 1];
    if constexpr (Type::kMx) {
      expand_scales(args.weight_scales + (batch.n0 + j) * args.weight_scale_stride, args.weight_scale_stride, width,
                    blocks, scales);
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
      tile.x = x + skipped * tokens;
      tile.c = static_cast<std::uint32_t*>(args.c) + first * args.ldc + batch.n0 + j;
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

// Decodes a batch into args.scratch.
template <typename Type>
void decode_batch(const GemmArgs& args, const Batch& batch) {
  pack_panels<Type>(batch.weight, args.panel_stride, args.row_stride, batch.columns, args.k,
                    static_cast<typename Type::Step::Word*>(args.scratch));
}

template <typename Type>
void packed(const GemmArgs& args) {
  const ScaleRange x_range = x_scale_range<Type>(args);
  for (std::int64_t n0 = 0; n0 < args.columns; n0 += kBatchColumns<Type>) {
    const Batch batch = batch_from<Type>(args, n0);
    decode_batch<Type>(args, batch);
    multiply_batch<Type>(args, batch, x_range);
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
