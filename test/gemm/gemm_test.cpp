// Every instruction set's matmul kernels against the scalar reference, bit by bit.
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch/isa_registry.hpp"
#include "kernels/gemm/gemm_kernels.hpp"
#include "kernels/gemm/isa_tables.hpp"
#include "kernels/reference/matmul.hpp"
#include "test/catch.hpp"

namespace {

using namespace mla_prolog;
using namespace mla_prolog::kernels;
namespace ref = mla_prolog::kernels::reference;

enum class Data { plain, heavy_tailed, special };

constexpr bool is_int(GemmType type) { return type == GemmType::int8; }
constexpr std::int64_t element_bytes(GemmType type) { return type == GemmType::bf16 ? 2 : 1; }
constexpr std::int64_t panel_columns(GemmType type) { return 32 / element_bytes(type); }

const char* name(GemmType type) {
  constexpr const char* kNames[] = {"bf16", "int8", "e4m3", "hif8", "mx"};
  return kNames[static_cast<std::size_t>(type)];
}

std::uint16_t bf16_of(float v) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16); }

// Codes of `count` elements. `special` reaches NaN, infinities, subnormals and both zeros; int8 is always full range,
// with runs of -128 that make a saturating kernel fail.
std::vector<std::uint8_t> make_codes(GemmType type, std::int64_t count, Data data, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count * element_bytes(type)));
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (type == GemmType::bf16) {
      float v = normal(random);
      if (data == Data::heavy_tailed && random() % 16 == 0) v *= std::ldexp(1.0F, static_cast<int>(random() % 60) - 30);
      std::uint16_t code = bf16_of(v);
      if (data == Data::special && random() % 64 == 0) code = static_cast<std::uint16_t>(random());
      if (data == Data::special && random() % 64 == 0) code &= 0x807F;
      std::memcpy(&bytes[at * 2], &code, 2);
    } else if (type == GemmType::int8) {
      bytes[at] = data == Data::plain || random() % 4 != 0 ? static_cast<std::uint8_t>(random())
                                                           : (random() % 2 == 0 ? 0x80 : 0x7F);
    } else {
      auto code = static_cast<std::uint8_t>(random());
      const bool nan = type == GemmType::hif8 ? (code == 0x80 || (code & 0x7F) == 0x6F) : (code & 0x7F) == 0x7F;
      if (nan && (data != Data::special || random() % 32 != 0)) code ^= 0x05;
      bytes[at] = code;
    }
  }
  return bytes;
}

// The bytes of E8M0 scales: near 1 in plain data, anywhere otherwise, NaN in special data.
std::vector<std::uint8_t> make_scales(std::int64_t count, Data data, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (auto& b : bytes) {
    b = static_cast<std::uint8_t>(data == Data::plain ? 120 + random() % 15 : random() % 255);
    if (data == Data::special && random() % 256 == 0) b = 0xFF;
  }
  return bytes;
}

struct Case {
  GemmType type;
  std::int64_t tokens, k, columns;
  Data data;
};

struct Operands {
  std::vector<std::uint8_t> x, w, x_scales, w_scales;
};

Operands make_operands(const Case& c) {
  std::mt19937 random(static_cast<unsigned>(c.tokens * 7919 + c.k * 31 + c.columns) +
                      977U * static_cast<unsigned>(c.data));
  return {make_codes(c.type, c.tokens * c.k, c.data, random), make_codes(c.type, c.k * c.columns, c.data, random),
          make_scales(c.tokens * c.k / 32, c.data, random), make_scales(c.columns * c.k / 32, c.data, random)};
}

std::vector<std::uint32_t> expected(const Case& c, const Operands& o) {
  std::vector<std::uint32_t> result(static_cast<std::size_t>(c.tokens * c.columns));
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const std::uint8_t* x = o.x.data() + t * c.k * element_bytes(c.type);
    std::uint32_t* row = result.data() + t * c.columns;
    auto* f = reinterpret_cast<float*>(row);
    switch (c.type) {
      case GemmType::bf16:
        ref::matmul_bf16(reinterpret_cast<const bf16_t*>(x), reinterpret_cast<const bf16_t*>(o.w.data()), c.k, 0,
                         c.columns, f);
        break;
      case GemmType::int8:
        ref::matmul_int8(reinterpret_cast<const std::int8_t*>(x), reinterpret_cast<const std::int8_t*>(o.w.data()), c.k,
                         0, c.columns, reinterpret_cast<std::int32_t*>(row));
        break;
      case GemmType::e4m3:
        ref::matmul_e4m3(x, o.w.data(), c.k, 0, c.columns, f);
        break;
      case GemmType::hif8:
        ref::matmul_hif8(x, o.w.data(), c.k, 0, c.columns, f);
        break;
      case GemmType::mx:
        ref::matmul_mx(x, o.x_scales.data() + t * c.k / 32, o.w.data(), o.w_scales.data(), c.k, 0, c.columns, f);
        break;
    }
  }
  return result;
}

// 64-byte aligned room with a canary behind it.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes), storage_(bytes + 128, kCanary) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    offset_ = (64 - address % 64) % 64;
  }
  std::uint8_t* data() { return storage_.data() + offset_; }
  bool intact() const {
    for (std::size_t i = offset_ + bytes_; i < storage_.size(); ++i) {
      if (storage_[i] != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint8_t kCanary = 0xA5;
  std::size_t bytes_;
  std::vector<std::uint8_t> storage_;
  std::size_t offset_ = 0;
};

std::vector<std::uint32_t> computed(const Case& c, const Operands& o, const GemmFunctions& gemm, bool packed,
                                    std::int64_t group) {
  const std::int64_t chunk = is_int(c.type) ? c.k : kGemmChunk;
  const std::int64_t ldc = c.columns + 3;
  std::vector<std::uint32_t> padded(static_cast<std::size_t>(c.tokens * ldc), 0x7FC12345);
  for (std::int64_t k0 = 0; k0 < c.k; k0 += chunk) {
    const std::int64_t k = std::min(chunk, c.k - k0);
    Room x(gemm.x_bytes(c.tokens, k));
    Room scratch(gemm.scratch_bytes(k));
    gemm.pack_x({.rows = o.x.data() + k0 * element_bytes(c.type),
                 .row_stride = c.k,
                 .scales = o.x_scales.data() + k0 / 32,
                 .scale_stride = c.k / 32,
                 .tokens = c.tokens,
                 .k = k,
                 .group = group,
                 .packed = x.data()});
    (packed ? gemm.packed : gemm.in_place)({.weight = o.w.data() + k0 * 32,
                                            .panel_stride = c.k * 32,
                                            .row_stride = 32,
                                            .weight_scales = o.w_scales.data() + k0 / 32,
                                            .weight_scale_stride = c.k / 32,
                                            .columns = c.columns,
                                            .k = k,
                                            .x = x.data(),
                                            .tokens = c.tokens,
                                            .group = group,
                                            .c = padded.data(),
                                            .ldc = ldc,
                                            .accumulate = k0 != 0,
                                            .scratch = scratch.data()});
    CHECK(x.intact());
    CHECK(scratch.intact());
  }
  std::vector<std::uint32_t> result;
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const auto row = padded.begin() + t * ldc;
    result.insert(result.end(), row, row + c.columns);
    for (std::int64_t j = c.columns; j < ldc; ++j) CHECK(row[j] == 0x7FC12345);
  }
  return result;
}

// The number of differing results; NaN equals NaN.
std::int64_t differences(const Case& c, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = !is_int(c.type) && (a[i] & 0x7FFFFFFF) > 0x7F800000 && (b[i] & 0x7FFFFFFF) > 0x7F800000;
    if (a[i] != b[i] && !both_nan) ++count;
  }
  return count;
}

// The tables of a set: where it uses the CPU's bf16 dot products, the one that does without, too.
std::vector<const GemmKernels*> tables_of(const KernelSet& set) {
  if (set.gemm == nullptr || !unavailable_reason(set, cpu_features()).empty()) return {};
  if (set.gemm == set.gemm_without_pairs) return {set.gemm};
  return {set.gemm, set.gemm_without_pairs};
}

std::vector<std::pair<const GemmKernels*, bool>> tables_and_paths(const KernelSet& set) {
  std::vector<std::pair<const GemmKernels*, bool>> both;
  for (const GemmKernels* table : tables_of(set)) {
    for (const bool packed : {false, true}) both.emplace_back(table, packed);
  }
  return both;
}

void check_case(const Case& c) {
  const Operands operands = make_operands(c);
  const auto want = expected(c, operands);
  for (const KernelSet& set : kernel_sets()) {
    // Without fma the bits agree only while no product leaves float32's normal range (contract.md section 2).
    if (set.isa == Isa::sse4_2 && c.type == GemmType::bf16 && c.data != Data::plain) continue;
    for (const GemmKernels* table : tables_of(set)) {
      const GemmFunctions& gemm = (*table)[c.type];
      INFO(set.name << " " << name(c.type) << " T " << c.tokens << " K " << c.k << " N " << c.columns << " data "
                    << static_cast<int>(c.data) << (table == set.gemm ? "" : " without pairs"));
      const std::int64_t groups[] = {1, std::max<std::int64_t>(1, gemm.in_place_group / 2), gemm.in_place_group};
      for (const std::int64_t group : groups) {
        INFO("in place, groups of " << group);
        CHECK(differences(c, computed(c, operands, gemm, false, group), want) == 0);
      }
      INFO("packed");
      CHECK(differences(c, computed(c, operands, gemm, true, gemm.packed_group), want) == 0);
    }
  }
}

constexpr GemmType kTypes[] = {GemmType::bf16, GemmType::int8, GemmType::e4m3, GemmType::hif8, GemmType::mx};
constexpr Data kData[] = {Data::plain, Data::heavy_tailed, Data::special};

TEST_CASE("matmul kernels equal the reference for every count of tokens") {
  for (const GemmType type : kTypes) {
    for (std::int64_t tokens = 1; tokens <= 17; ++tokens) {
      check_case({type, tokens, 96, 64 + panel_columns(type), kData[tokens % 3]});
    }
    for (const std::int64_t tokens : {31, 33, 63, 65}) check_case({type, tokens, 64, 96, kData[tokens % 3]});
  }
}

TEST_CASE("matmul kernels equal the reference for every width") {
  for (const GemmType type : kTypes) {
    for (std::int64_t panels = 1; panels <= 13; ++panels) {
      for (const std::int64_t tokens : {1, 2, 7}) {
        check_case({type, tokens, 64, panels * panel_columns(type), kData[panels % 3]});
      }
    }
  }
}

TEST_CASE("matmul kernels keep the order of chunks of 512") {
  for (const GemmType type : kTypes) {
    for (const std::int64_t k : {32, 512, 544, 1536, 1600}) {
      for (const Data data : kData) {
        check_case({type, 1, k, 96, data});
        check_case({type, 8, k, 64, data});
      }
    }
  }
}

TEST_CASE("row-major bf16 heads are multiplied where they lie") {
  constexpr std::int64_t kColumns = 512;
  std::mt19937 random(5);
  for (const std::int64_t k : {16, 128, 192}) {
    for (const std::int64_t tokens : {1, 3, 6, 13, 65}) {
      const auto x = make_codes(GemmType::bf16, tokens * k, Data::heavy_tailed, random);
      const auto w = make_codes(GemmType::bf16, k * kColumns, Data::heavy_tailed, random);
      std::vector<float> want(static_cast<std::size_t>(tokens * kColumns));
      for (std::int64_t t = 0; t < tokens; ++t) {
        ref::matmul_uk(reinterpret_cast<const bf16_t*>(x.data()) + t * k, reinterpret_cast<const bf16_t*>(w.data()), k,
                       want.data() + t * kColumns);
      }
      for (const KernelSet& set : kernel_sets()) {
        for (const auto& [table, packed] : tables_and_paths(set)) {
          const GemmFunctions& gemm = (*table)[GemmType::bf16];
          const std::int64_t group = packed ? gemm.packed_group : gemm.in_place_group;
          Room px(gemm.x_bytes(tokens, k));
          Room scratch(gemm.scratch_bytes(k));
          std::vector<float> got(want.size());
          gemm.pack_x(
              {.rows = x.data(), .row_stride = k, .tokens = tokens, .k = k, .group = group, .packed = px.data()});
          (packed ? gemm.packed : gemm.in_place)({.weight = w.data(),
                                                  .panel_stride = 32,
                                                  .row_stride = kColumns * 2,
                                                  .columns = kColumns,
                                                  .k = k,
                                                  .x = px.data(),
                                                  .tokens = tokens,
                                                  .group = group,
                                                  .c = got.data(),
                                                  .ldc = kColumns,
                                                  .scratch = scratch.data()});
          INFO(set.name << " K " << k << " T " << tokens << " packed " << packed);
          CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
        }
      }
    }
  }
}

// At the edges of what bf16 dot products do exactly: sums that are subnormal or overflow by a little, or just not.
TEST_CASE("bf16 products near the ends of float32's range equal the reference") {
  std::mt19937 random(11);
  constexpr std::int64_t kTokens = 13, kColumns = 80, kK = 96;
  for (const int exponents : {130, 138, 140, 141, 142, 143, 144, 150, 360, 366, 369, 370, 371, 372, 380}) {
    for (const int x_exponent : {1, 2, 60, 127, 200, 254}) {
      const int w_exponent = exponents - x_exponent;
      if (w_exponent < 1 || w_exponent > 254) continue;
      const Case c{GemmType::bf16, kTokens, kK, kColumns, Data::special};
      const auto codes = [&](std::int64_t count, int exponent) {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count * 2));
        for (std::int64_t i = 0; i < count; ++i) {
          auto code = static_cast<std::uint16_t>((random() & 0x807F) | static_cast<unsigned>(exponent) << 7);
          if (random() % 8 == 0) code &= 0x8000;
          std::memcpy(&bytes[static_cast<std::size_t>(i) * 2], &code, 2);
        }
        return bytes;
      };
      const Operands operands{codes(kTokens * kK, x_exponent), codes(kK * kColumns, w_exponent), {}, {}};
      const auto want = expected(c, operands);
      for (const KernelSet& set : kernel_sets()) {
        if (set.isa == Isa::sse4_2) continue;  // without fma (contract.md section 2)
        for (const auto& [table, packed] : tables_and_paths(set)) {
          const GemmFunctions& gemm = (*table)[GemmType::bf16];
          INFO(set.name << " exponents " << x_exponent << " and " << w_exponent << (packed ? ", packed" : ", in place")
                        << (table == set.gemm ? "" : ", without pairs"));
          CHECK(differences(c, computed(c, operands, gemm, packed, packed ? gemm.packed_group : 1), want) == 0);
        }
      }
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("this host's bf16 dot products are used where they are exact") {
  for (const KernelSet& set : kernel_sets()) {
    if (set.isa != Isa::avx512_vnni || !unavailable_reason(set, cpu_features()).empty()) continue;
    const bool has_them = cpu_features().has(CpuFeature::avx512_bf16);
    const bool exact = has_them && gemm_pairs_avx512_vnni.exact();
    CHECK(set.gemm == (exact ? &gemm_pairs_avx512_vnni.kernels : &gemm_kernels_avx512_vnni));
    CHECK(set.gemm_without_pairs == &gemm_kernels_avx512_vnni);
    if (has_them && !exact) WARN("this CPU's bf16 dot products add in another order than is documented");
  }
  SUCCEED();
}
#endif

TEST_CASE("at least one instruction set of this host has matmul kernels") {
  int available = 0;
  for (const KernelSet& set : kernel_sets()) {
    if (set.gemm != nullptr && unavailable_reason(set, cpu_features()).empty()) ++available;
  }
  if (available == 0) WARN("no instruction set of this CPU has matmul kernels in this build");
  SUCCEED();
}

}  // namespace
