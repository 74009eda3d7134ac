// What each matmul type is made of, and the packing of its left operand. Included once per instruction set, after its
// set_*.hpp.
#pragma once

#include "kernels/gemm/float_tiles.hpp"
#include "kernels/gemm/int_tiles.hpp"

namespace mla_prolog::kernels {
namespace {

using TileFunction = void (*)(const Tile&);

// What a matmul type is made of.
struct Bf16Type {
  using Decoder = Bf16Decoder;
  using Step = FloatStep;
  static constexpr bool kMx = false;
  static constexpr bool kInt = false;
  static constexpr bool kPairs = false;
  static float value(const void* row, std::int64_t k) {
    return __builtin_bit_cast(float, std::uint32_t{static_cast<const std::uint16_t*>(row)[k]} << 16);
  }
};

template <typename D, const Bf16Table& kTable, bool kIsMx>
struct CodeType {
  using Decoder = D;
  using Step = FloatStep;
  static constexpr bool kMx = kIsMx;
  static constexpr bool kInt = false;
  static constexpr bool kPairs = false;
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
  using Step = IntStep;
  static constexpr bool kMx = false;
  static constexpr bool kInt = true;
  static constexpr bool kPairs = false;
};

constexpr std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t max_of(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Behind the pairs of a token, see bf16_pairs.hpp.
constexpr std::int64_t kRangeWords = 1;

template <typename Type>
constexpr std::int64_t words_per_token(std::int64_t k) {
  if constexpr (Type::kInt) return k / kIntGroup + 1;
  if constexpr (Type::kPairs) return k + k / 2 + kRangeWords;
  return Type::kMx ? k + k / kMxBlockLength : k;
}

template <typename Type>
std::size_t x_bytes(std::int64_t tokens, std::int64_t k) {
  return static_cast<std::size_t>(tokens * words_per_token<Type>(k)) * 4;
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

// Of the scales of all groups of a packed left operand.
template <typename Type>
ScaleRange x_scale_range(const GemmArgs& args) {
  ScaleRange range;
  if constexpr (Type::kMx) {
    const auto* x = static_cast<const float*>(args.x);
    for (std::int64_t first = 0; first < args.tokens; first += args.group) {
      const std::int64_t tokens = min_of(args.group, args.tokens - first);
      range.add(x + args.k * tokens, args.k / kMxBlockLength * tokens);
      x += tokens * words_per_token<Type>(args.k);
    }
  }
  return range;
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

}  // namespace
}  // namespace mla_prolog::kernels
