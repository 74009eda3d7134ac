#include "kernels/dispatch/cpu_features.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace mla_prolog::kernels {
namespace {

struct FeatureName {
  CpuFeature feature;
  const char* name;
};

constexpr FeatureName kInstructionNames[] = {
    {CpuFeature::sse4_2, "SSE4.2"},     {CpuFeature::avx, "AVX"},
    {CpuFeature::avx2, "AVX2"},         {CpuFeature::fma, "FMA"},
    {CpuFeature::avx512f, "AVX512F"},   {CpuFeature::avx512bw, "AVX512BW"},
    {CpuFeature::avx512dq, "AVX512DQ"}, {CpuFeature::avx512vl, "AVX512VL"},
    {CpuFeature::avx512cd, "AVX512CD"}, {CpuFeature::avx512_vnni, "AVX512_VNNI"},
    {CpuFeature::asimd, "ASIMD"},       {CpuFeature::asimddp, "ASIMDDP"},
    {CpuFeature::f16c, "F16C"},         {CpuFeature::avx512_bf16, "AVX512_BF16"},
};

constexpr FeatureName kRegisterNames[] = {
    {CpuFeature::os_ymm, "YMM"},
    {CpuFeature::os_zmm, "ZMM"},
};

constexpr bool bit(std::uint64_t word, unsigned index) { return ((word >> index) & 1u) != 0; }

#if defined(__x86_64__) || defined(__i386__)
// XGETBV(0) by its bytes: the mnemonic needs a compiler flag that a baseline unit must not have.
std::uint64_t read_xcr0() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

X86CpuState read_x86_state() noexcept {
  X86CpuState state;
  state.max_leaf = static_cast<std::uint32_t>(__get_cpuid_max(0, nullptr));
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (state.max_leaf >= 1) {
    __cpuid(1, eax, ebx, ecx, edx);
    state.leaf1_ecx = ecx;
    if (bit(ecx, 27)) state.xcr0 = read_xcr0();
  }
  if (state.max_leaf >= 7) {
    __cpuid_count(7, 0, eax, ebx, ecx, edx);
    state.leaf7_ebx = ebx;
    state.leaf7_ecx = ecx;
    if (eax >= 1) {
      __cpuid_count(7, 1, eax, ebx, ecx, edx);
      state.leaf7_1_eax = eax;
    }
  }
  return state;
}
#endif

CpuFeatures detect() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return decode_x86(read_x86_state());
#elif defined(__aarch64__) && defined(__linux__)
  return decode_aarch64(getauxval(AT_HWCAP));
#elif defined(__aarch64__)
  // No auxiliary vector: ASIMD is part of the ABI, the rest only where the compiler may assume it anyway.
  CpuFeatures features(CpuFeature::asimd);
#if defined(__ARM_FEATURE_DOTPROD)
  features.add(CpuFeature::asimddp, true);
#endif
  return features;
#else
  return CpuFeatures();
#endif
}

void append_names(std::string& text, const FeatureName* begin, const FeatureName* end, CpuFeatures missing) {
  bool first = true;
  for (const FeatureName* entry = begin; entry != end; ++entry) {
    if (!missing.has(entry->feature)) continue;
    if (!first) text += ", ";
    text += entry->name;
    first = false;
  }
}

}  // namespace

CpuFeatures decode_x86(const X86CpuState& state) noexcept {
  CpuFeatures features;
  if (state.max_leaf < 1) return features;
  features.add(CpuFeature::sse4_2, bit(state.leaf1_ecx, 20));
  features.add(CpuFeature::fma, bit(state.leaf1_ecx, 12));
  features.add(CpuFeature::avx, bit(state.leaf1_ecx, 28));
  features.add(CpuFeature::f16c, bit(state.leaf1_ecx, 29));
  if (state.max_leaf >= 7) {
    features.add(CpuFeature::avx2, bit(state.leaf7_ebx, 5));
    features.add(CpuFeature::avx512f, bit(state.leaf7_ebx, 16));
    features.add(CpuFeature::avx512dq, bit(state.leaf7_ebx, 17));
    features.add(CpuFeature::avx512cd, bit(state.leaf7_ebx, 28));
    features.add(CpuFeature::avx512bw, bit(state.leaf7_ebx, 30));
    features.add(CpuFeature::avx512vl, bit(state.leaf7_ebx, 31));
    features.add(CpuFeature::avx512_vnni, bit(state.leaf7_ecx, 11));
    features.add(CpuFeature::avx512_bf16, bit(state.leaf7_1_eax, 5));
  }
  // XMM and upper YMM; with those, the mask registers and both parts of ZMM.
  constexpr std::uint64_t kYmmState = 0x06;
  constexpr std::uint64_t kZmmState = 0xE6;
  const std::uint64_t xcr0 = bit(state.leaf1_ecx, 27) ? state.xcr0 : 0;
  features.add(CpuFeature::os_ymm, (xcr0 & kYmmState) == kYmmState);
  features.add(CpuFeature::os_zmm, (xcr0 & kZmmState) == kZmmState);
  return features;
}

CpuFeatures decode_aarch64(std::uint64_t hwcap) noexcept {
  CpuFeatures features;
  features.add(CpuFeature::asimd, bit(hwcap, 1));
  features.add(CpuFeature::asimddp, bit(hwcap, 20));
  return features;
}

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

std::string describe_missing(CpuFeatures required, CpuFeatures present) {
  const CpuFeatures missing = required.without(present);
  const CpuFeatures registers(CpuFeature::os_ymm, CpuFeature::os_zmm);
  std::string text;
  if (!missing.without(registers).empty()) {
    text += "the CPU lacks ";
    append_names(text, std::begin(kInstructionNames), std::end(kInstructionNames), missing);
  } else if (!missing.empty()) {
    text += "the operating system does not save registers ";
    append_names(text, std::begin(kRegisterNames), std::end(kRegisterNames), missing);
  }
  return text;
}

}  // namespace mla_prolog::kernels
