// The bf16 matmul of many tokens by dot products of pairs (AVX512_BF16). Included after set_avx512.hpp and packed.hpp.
//
// Numeric policy: vdpbf16ps adds the two products of a pair to the accumulator one after the other, that of the odd
// element first, each fused and rounded once to nearest even. With k in the odd element and k + 1 in the even one this
// is the chain of fma of contract.md section 2, but that subnormal operands, sums, and results count as zero. So it is
// used where none can appear: no operand is subnormal, and all products are multiples of a number that is normal, and
// with them all their sums, rounded or not. Infinities, NaN, and sums that could overflow are left out, too. Where
// operands are not like that, the columns at hand are multiplied in float32.
#pragma once

#include "kernels/gemm/packed.hpp"

namespace mla_prolog::kernels {
namespace {

constexpr std::int64_t kPairsFrom = 12;  // tokens from which packing pairs pays
constexpr double kPairsGain = 1.9;       // against multiply-add (measured)

// Exponent fields of the numbers that are not zero; without any, a range that suits every other.
struct ExponentRange {
  std::uint32_t least = 254;
  std::uint32_t most = 1;

  void add(std::uint32_t exponent_least, std::uint32_t exponent_most) {
    least = exponent_least < least ? exponent_least : least;
    most = exponent_most > most ? exponent_most : most;
  }
  void add(std::uint16_t code) {
    const std::uint32_t magnitude = code & 0x7FFFU;
    if (magnitude != 0) add(magnitude >> 7, magnitude >> 7);
  }
};

// A product is a multiple of 2^(a + b - 268), for a, b the exponent fields; a chunk's sum is below
// 2^(a + b - 252) * kGemmChunk, and so is each of its roundings.
inline bool exact_by_pairs(const ExponentRange& x, const ExponentRange& w) {
  constexpr std::uint32_t kNormal = 268 - 126;
  constexpr std::uint32_t kFinite = 252 + 127 - 9 - 1;
  static_assert(kGemmChunk == 512);
  return x.least >= 1 && w.least >= 1 && x.most < 255 && w.most < 255 && x.least + w.least >= kNormal &&
         x.most + w.most <= kFinite;
}

// A token's float32 values, its pairs, and the range of its exponents.
struct Bf16PairsType : Bf16Type {
  static constexpr bool kPairs = true;
};

inline void pack_x_pairs(const GemmX& x) {
  auto* out = static_cast<std::uint32_t*>(x.packed);
  for (std::int64_t first = 0; first < x.tokens; first += x.group) {
    const std::int64_t tokens = min_of(x.group, x.tokens - first);
    std::uint32_t* pairs = out + x.k * tokens;
    std::uint32_t* ranges = pairs + x.k / 2 * tokens;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto* row = static_cast<const std::uint16_t*>(x.rows) + (first + t) * x.row_stride;
      ExponentRange range;
      for (std::int64_t k = 0; k < x.k; k += 2) {
        const std::uint32_t a = row[k];
        const std::uint32_t b = row[k + 1];
        out[k * tokens + t] = a << 16;
        out[(k + 1) * tokens + t] = b << 16;
        if (x.in_place) continue;
        pairs[k / 2 * tokens + t] = a << 16 | b;
        range.add(row[k]);
        range.add(row[k + 1]);
      }
      if (!x.in_place) ranges[t] = range.least << 16 | range.most;
    }
    out = ranges + kRangeWords * tokens;
  }
}

// Of all groups of a packed left operand.
inline ExponentRange x_exponents(const GemmArgs& args) {
  ExponentRange range;
  const auto* x = static_cast<const std::uint32_t*>(args.x);
  for (std::int64_t first = 0; first < args.tokens; first += args.group) {
    const std::int64_t tokens = min_of(args.group, args.tokens - first);
    const std::uint32_t* ranges = x + (words_per_token<Bf16PairsType>(args.k) - kRangeWords) * tokens;
    for (std::int64_t t = 0; t < tokens; ++t) range.add(ranges[t] >> 16, ranges[t] & 0xFFFFU);
    x = ranges + kRangeWords * tokens;
  }
  return range;
}

// Of two rows of 16, the first one's elements to odd places, the second one's to even places.
struct PairOrder {
  alignas(64) std::uint16_t index[32];
};
constexpr PairOrder make_odd_first() {
  PairOrder order{};
  for (int j = 0; j < 16; ++j) {
    order.index[2 * j] = static_cast<std::uint16_t>(16 + j);
    order.index[2 * j + 1] = static_cast<std::uint16_t>(j);
  }
  return order;
}
constexpr PairOrder kOddFirst = make_odd_first();

// Weights as panels [k / 2][columns of the panel] of pairs; the range of their exponents.
inline ExponentRange pack_pairs(const std::uint8_t* weight, std::ptrdiff_t panel_stride, std::ptrdiff_t row_stride,
                                std::int64_t columns, std::int64_t k, std::int32_t* out) {
  const __m512i odd_first = _mm512_load_si512(kOddFirst.index);
  const __m512i magnitude_bits = _mm512_set1_epi16(0x7FFF);
  const __m512i one = _mm512_set1_epi16(1);
  __m512i least = _mm512_set1_epi16(-1);  // magnitudes less 1, so that zeros are the largest
  __m512i most = _mm512_setzero_si512();
  for (std::int64_t column = 0; column < columns; column += 16) {
    const std::int64_t panel = column / kPanelColumns * kPanelColumns;
    const std::int64_t width = min_of(kPanelColumns, columns - panel);
    const std::uint8_t* p = weight + column / 16 * panel_stride;
    std::int32_t* to = out + panel * (k / 2) + (column - panel);
    for (std::int64_t i = 0; i < k / 2; ++i) {
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + row_stride));
      const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
      const __m512i magnitude = _mm512_and_si512(both, magnitude_bits);
      least = _mm512_min_epu16(least, _mm512_sub_epi16(magnitude, one));
      most = _mm512_max_epu16(most, magnitude);
      _mm512_storeu_si512(to, _mm512_permutexvar_epi16(odd_first, both));
      p += 2 * row_stride;
      to += width;
    }
  }
  alignas(64) std::uint16_t lanes[64];
  _mm512_store_si512(lanes, least);
  _mm512_store_si512(lanes + 32, most);
  ExponentRange range;
  for (int i = 0; i < 32; ++i) {
    if (lanes[i] != 0xFFFF) range.add(static_cast<std::uint16_t>(lanes[i] + 1));
    range.add(lanes[32 + i]);
  }
  return range;
}

// `acc` and the products of w with the pair at x. Written out, for compilers know neither the instruction without a
// flag for the whole unit nor its own broadcast.
inline __m512 dot_pairs(__m512 acc, __m512i w, const std::int32_t* x) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*x));
  return acc;
}

// Whether the instruction does what this file takes for granted: chains of pairs against chains of fma.
inline bool pairs_are_exact() {
  constexpr int kChains = 64;
  constexpr int kPairs = 32;
  std::uint32_t seed = 1;
  const auto random = [&seed] {
    seed = seed * 1664525U + 1013904223U;
    return seed >> 8;
  };
  // Signs, significands, and exponents near each other, so that sums cancel and round in every way.
  const auto number = [&random] { return (random() & 0x807FU) | ((120 + random() % 16) << 7); };
  for (int chain = 0; chain < kChains; ++chain) {
    Float by_pairs = VectorSet::zero();
    Float by_fma = VectorSet::zero();
    for (int pair = 0; pair < kPairs; ++pair) {
      alignas(64) std::uint32_t w[16];
      for (std::uint32_t& word : w) word = number() << 16 | number();
      const auto x = static_cast<std::int32_t>(number() << 16 | number());
      const Int weights = _mm512_load_si512(w);
      by_pairs = dot_pairs(by_pairs, weights, &x);
      const Int both = VectorSet::broadcast(&x);
      const Int odd = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
      by_fma = VectorSet::fma(_mm512_castsi512_ps(_mm512_and_si512(weights, odd)),
                              _mm512_castsi512_ps(_mm512_and_si512(both, odd)), by_fma);
      by_fma = VectorSet::fma(_mm512_castsi512_ps(_mm512_slli_epi32(weights, 16)),
                              _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)), by_fma);
      if (_mm512_cmpneq_epi32_mask(_mm512_castps_si512(by_pairs), _mm512_castps_si512(by_fma)) != 0) return false;
    }
  }
  return true;
}

struct PairsStep {
  using Word = std::int32_t;
  using Result = float;
  using Vector = Int;
  using Sum = Float;
  static constexpr std::int64_t kRows = 2;

  static Sum start(const Word*, std::int64_t, int, int) { return VectorSet::zero(); }
  static const Word* left(const Word* x) { return x; }
  static Sum multiply(Sum sum, Vector w, const Word* x) { return dot_pairs(sum, w, x); }
};

struct PairsPanel {
  using Step = PairsStep;
  static constexpr bool kMx = false;
};

inline void packed_pairs(const GemmArgs& args) {
  const ExponentRange x_range = x_exponents(args);
  for (std::int64_t n0 = 0; n0 < args.columns; n0 += kBatchColumns<Bf16PairsType>) {
    const Batch batch = batch_from<Bf16PairsType>(args, n0);
    const ExponentRange range = pack_pairs(batch.weight, args.panel_stride, args.row_stride, batch.columns, args.k,
                                           static_cast<std::int32_t*>(args.scratch));
    if (exact_by_pairs(x_range, range)) {
      multiply_batch<Bf16PairsType, PairsPanel>(args, batch, {}, args.k);
    } else {
      decode_batch<Bf16PairsType>(args, batch);
      multiply_batch<Bf16PairsType>(args, batch, {});
    }
  }
}

}  // namespace
}  // namespace mla_prolog::kernels
