// Detection from imagined CPUs: what CPUID offers counts only with the operating system's consent.
#include "kernels/dispatch/cpu_features.hpp"

#include "test/catch.hpp"

namespace mla_prolog::kernels {
namespace {

constexpr std::uint32_t bit(unsigned index) { return 1u << index; }

constexpr std::uint32_t kFma = bit(12);
constexpr std::uint32_t kSse42 = bit(20);
constexpr std::uint32_t kOsxsave = bit(27);
constexpr std::uint32_t kAvx = bit(28);
constexpr std::uint32_t kF16c = bit(29);
constexpr std::uint32_t kAvx2 = bit(5);
constexpr std::uint32_t kAvx512 = bit(16) | bit(17) | bit(28) | bit(30) | bit(31);  // F, DQ, CD, BW, VL
constexpr std::uint32_t kVnni = bit(11);
constexpr std::uint32_t kBf16 = bit(5);

// A server core of the AVX-512 generation with everything switched on.
constexpr X86CpuState full_state() {
  return {.max_leaf = 0x20,
          .leaf1_ecx = kFma | kSse42 | kOsxsave | kAvx | kF16c,
          .leaf7_ebx = kAvx2 | kAvx512,
          .leaf7_ecx = kVnni,
          .leaf7_1_eax = kBf16,
          .xcr0 = 0xE7};
}

TEST_CASE("everything is found on a CPU that has everything", "[dispatch]") {
  const CpuFeatures features = decode_x86(full_state());
  using enum CpuFeature;
  REQUIRE(features == CpuFeatures(sse4_2, avx, avx2, fma, f16c, avx512f, avx512bw, avx512dq, avx512vl, avx512cd,
                                  avx512_vnni, avx512_bf16, os_ymm, os_zmm));
}

TEST_CASE("register state comes from XGETBV, not from CPUID", "[dispatch]") {
  X86CpuState state = full_state();
  state.xcr0 = 0x07;  // the operating system saves YMM only
  REQUIRE(decode_x86(state).has(CpuFeature::os_ymm));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_zmm));
  state.xcr0 = 0xE3;  // ZMM without the upper halves of YMM
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_ymm));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_zmm));
  state.xcr0 = 0xC7;  // no mask registers
  REQUIRE(decode_x86(state).has(CpuFeature::os_ymm));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_zmm));
  state.xcr0 = 0xE7;
  state.leaf1_ecx &= ~kOsxsave;  // XGETBV itself is not to be believed
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_ymm));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::os_zmm));
}

TEST_CASE("leaves beyond the highest are not read", "[dispatch]") {
  X86CpuState state = full_state();
  state.max_leaf = 6;
  REQUIRE(decode_x86(state).has(CpuFeature::sse4_2));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::avx2));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::avx512_vnni));
  REQUIRE_FALSE(decode_x86(state).has(CpuFeature::avx512_bf16));
  state.max_leaf = 0;
  REQUIRE(decode_x86(state).empty());
}

TEST_CASE("AArch64 features come from the auxiliary vector", "[dispatch]") {
  REQUIRE(decode_aarch64(0).empty());
  REQUIRE(decode_aarch64(1u << 1) == CpuFeatures(CpuFeature::asimd));
  REQUIRE(decode_aarch64((1u << 1) | (1u << 20)) == CpuFeatures(CpuFeature::asimd, CpuFeature::asimddp));
}

TEST_CASE("what is missing is named", "[dispatch]") {
  using enum CpuFeature;
  const CpuFeatures required(avx2, fma, os_ymm);
  REQUIRE(describe_missing(required, required).empty());
  REQUIRE(describe_missing(required, CpuFeatures(avx2, os_ymm)) == "the CPU lacks FMA");
  REQUIRE(describe_missing(required, CpuFeatures()) == "the CPU lacks AVX2, FMA");
  REQUIRE(describe_missing(required, CpuFeatures(avx2, fma)) == "the operating system does not save registers YMM");
}

}  // namespace
}  // namespace mla_prolog::kernels
