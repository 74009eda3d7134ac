// From the register tiles of one instruction set to the functions of GemmKernels: the loops over columns and groups of
// tokens, and the packing of both operands. Included once per instruction set, after its set_*.hpp.
#pragma once

#include <utility>

#include "kernels/gemm/float_tiles.hpp"
#include "kernels/gemm/int_tiles.hpp"

namespace mla_prolog::kernels {
namespace {

using TileFunction = void (*)(const Tile&);

// What a matmul type is made of.
struct Bf16Type {
  using Decoder = Bf16Decoder;
  static constexpr bool kMx = false;
  static constexpr bool kInt = false;
  static float value(const void* row, std::int64_t k) {
    return __builtin_bit_cast(float, std::uint32_t{static_cast<const std::uint16_t*>(row)[k]} << 16);
  }
};

template <typename D, const Bf16Table& kTable, bool kIsMx>
struct CodeType {
  using Decoder = D;
  static constexpr bool kMx = kIsMx;
  static constexpr bool kInt = false;
  static float value(const void* row, std::int64_t k) {
    const std::uint16_t pattern = kTable.pattern[static_cast<const std::uint8_t*>(row)[k]];
    return __builtin_bit_cast(float, std::uint32_t{pattern} << 16) * Decoder::kXScale;
  }
};
using E4m3Type = CodeType<E4m3Decoder, kE4m3ToBf16, false>;
using Hif8Type = CodeType<Hif8Decoder, kHif8ToBf16, false>;
using MxType = CodeType<E4m3Decoder, kE4m3ToBf16, true>;

struct Int8Type {
  using Decoder = IntDecoder;
  static constexpr bool kMx = false;
  static constexpr bool kInt = true;
};

constexpr std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t max_of(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// ---- left operand ----

template <typename Type>
constexpr std::int64_t words_per_token(std::int64_t k) {
  if constexpr (Type::kInt) return k / kIntGroup + 1;
  return Type::kMx ? k + k / kMxBlockLength : k;
}

template <typename Type>
std::size_t x_bytes(std::int64_t tokens, std::int64_t k) {
  return static_cast<std::size_t>(tokens * words_per_token<Type>(k)) * 4;
}

// 2^(code - 127); 0xFF is NaN.
inline float scale_value(std::uint8_t code) {
  const std::uint32_t bits = code == 0xFF ? 0x7FC00000U : (code == 0 ? 0x00400000U : std::uint32_t{code} << 23);
  return __builtin_bit_cast(float, bits);
}

template <typename Type>
void pack_x_float(const GemmX& x) {
  constexpr int kBytes = kElementBytes<typename Type::Decoder>;
  auto* out = static_cast<float*>(x.packed);
  for (std::int64_t first = 0; first < x.tokens; first += x.group) {
    const std::int64_t tokens = min_of(x.group, x.tokens - first);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto* row = static_cast<const std::uint8_t*>(x.rows) + (first + t) * x.row_stride * kBytes;
      for (std::int64_t k = 0; k < x.k; ++k) out[k * tokens + t] = Type::value(row, k);
    }
    out += x.k * tokens;
    if constexpr (Type::kMx) {
      const std::int64_t blocks = x.k / kMxBlockLength;
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::uint8_t* scales = x.scales + (first + t) * x.scale_stride;
        for (std::int64_t b = 0; b < blocks; ++b) out[b * tokens + t] = scale_value(scales[b]);
      }
      out += blocks * tokens;
    }
  }
}

inline void pack_x_int(const GemmX& x) {
  auto* out = static_cast<std::int32_t*>(x.packed);
  const std::int64_t groups = x.k / kIntGroup;
  for (std::int64_t first = 0; first < x.tokens; first += x.group) {
    const std::int64_t tokens = min_of(x.group, x.tokens - first);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto* row = static_cast<const std::int8_t*>(x.rows) + (first + t) * x.row_stride;
      std::int32_t sum = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        std::uint32_t word = 0;
        for (int i = 0; i < kIntGroup; ++i) {
          constexpr int kBits = 32 / kIntGroup;
          constexpr std::uint32_t kMask = (std::uint32_t{1} << kBits) - 1;
          const std::int32_t value = row[g * kIntGroup + i];
          word |= (static_cast<std::uint32_t>(value) & kMask) << (kBits * i);
          sum += value;
        }
        out[g * tokens + t] = static_cast<std::int32_t>(word);
      }
      out[groups * tokens + t] = IntDecoder::kBiased ? -128 * sum : 0;
    }
    out += (groups + 1) * tokens;
  }
}

// ---- weights in place ----

// E8M0 bytes of `columns` columns as float32 [block][columns].
inline void expand_scales(const std::uint8_t* scales, std::ptrdiff_t stride, std::int64_t columns, std::int64_t blocks,
                          float* out) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t b = 0; b < blocks; ++b) out[b * columns + j] = scale_value(scales[j * stride + b]);
  }
}

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

// ---- weights decoded into panels ----

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

// Brings what comes next into the second-level cache, a share at a time.
struct Prefetcher {
  GemmPrefetch what;
  bool by_rows;  // each row's panels lie side by side; otherwise each panel's rows do
  std::int64_t lines_per_piece;
  std::int64_t lines;
  std::int64_t done = 0;

  explicit Prefetcher(const GemmPrefetch& next) : what(next), by_rows(next.row_stride != kPanelBytes) {
    lines_per_piece = (by_rows ? what.panels : what.rows) * kPanelBytes / 64;
    lines = next.data == nullptr ? 0 : (by_rows ? what.rows : what.panels) * lines_per_piece;
  }

  void advance(std::int64_t until) {
    const std::ptrdiff_t stride = by_rows ? what.row_stride : what.panel_stride;
    for (; done < until; ++done) {
      VectorSet::prefetch_l2(what.data + done / lines_per_piece * stride + done % lines_per_piece * 64);
    }
  }
};

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
  ScaleRange x_range;
  bool moderate = false;
  if constexpr (Type::kMx) {
    const auto* x = static_cast<const float*>(args.x);
    for (std::int64_t first = 0; first < args.tokens; first += args.group) {
      const std::int64_t tokens = min_of(args.group, args.tokens - first);
      x_range.add(x + args.k * tokens, blocks * tokens);
      x += tokens * words_per_token<Type>(args.k);
    }
  }
  for (std::int64_t n0 = 0; n0 < args.columns; n0 += kBatchColumns<Type>) {
    const std::int64_t columns = min_of(kBatchColumns<Type>, args.columns - n0);
    const std::uint8_t* weight = args.weight + n0 / kNzColumns * args.panel_stride;
    pack_panels<Type>(weight, args.panel_stride, args.row_stride, columns, args.k, panels);
    GemmPrefetch next = args.next;
    if (n0 + columns < args.columns) {
      next = {weight + columns / kNzColumns * args.panel_stride, args.panel_stride, args.row_stride,
              min_of(kBatchColumns<Type>, args.columns - n0 - columns) / kNzColumns, args.k};
    }
    Prefetcher prefetcher(next);
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
        if (j + kPanelColumns >= columns) prefetcher.advance(prefetcher.lines * (g + 1) / groups);
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
        functions[tokens - 1](tile);
        x += tokens * words_per_token<Type>(args.k);
      }
    }
  }
}

// ---- the table ----

template <typename Type>
constexpr GemmFunctions functions_of(std::int64_t packed_from) {
  GemmFunctions functions{};
  functions.x_bytes = &x_bytes<Type>;
  if constexpr (Type::kInt) {
    functions.pack_x = &pack_x_int;
  } else {
    functions.pack_x = &pack_x_float<Type>;
  }
  functions.scratch_bytes = &scratch_bytes<Type>;
  functions.in_place = &in_place<Type>;
  functions.packed = &packed<Type>;
  functions.in_place_columns = [](std::int64_t group) {
    return max_of(std::int64_t{kInPlaceTable<Type>.rows[group - 1].units} * Type::Decoder::kColumns,
                  kPanelBytes / kElementBytes<typename Type::Decoder>);
  };
  functions.in_place_group = kMaxInPlaceTokens<Type>;
  functions.packed_group = kPanelTokens;
  functions.packed_from = packed_from;
  return functions;
}

constexpr GemmKernels make_gemm_kernels() {
  return {{functions_of<Bf16Type>(VectorSet::kPackedFromBf16), functions_of<Int8Type>(VectorSet::kPackedFromInt8),
           functions_of<E4m3Type>(VectorSet::kPackedFromE4m3), functions_of<Hif8Type>(VectorSet::kPackedFromHif8),
           functions_of<MxType>(VectorSet::kPackedFromE4m3)}};
}

}  // namespace
}  // namespace mla_prolog::kernels
