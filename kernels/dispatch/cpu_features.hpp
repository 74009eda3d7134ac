// What the CPU can execute and the operating system preserves, as far as a kernel set asks.
#pragma once

#include <cstdint>
#include <string>

namespace mla_prolog::kernels {

// One bit each. `os_ymm` and `os_zmm`: the operating system saves those registers on a context switch, without which
// the instructions fault or corrupt however capable the CPU is.
enum class CpuFeature : std::uint32_t {
  sse4_2 = 1u << 0,
  avx = 1u << 1,
  avx2 = 1u << 2,
  fma = 1u << 3,
  avx512f = 1u << 4,
  avx512bw = 1u << 5,
  avx512dq = 1u << 6,
  avx512vl = 1u << 7,
  avx512cd = 1u << 8,
  avx512_vnni = 1u << 9,
  os_ymm = 1u << 10,
  os_zmm = 1u << 11,
  asimd = 1u << 12,
  asimddp = 1u << 13,
  f16c = 1u << 14,
  avx512_bf16 = 1u << 15,
};

class CpuFeatures {
 public:
  constexpr CpuFeatures() noexcept = default;
  template <typename... Feature>
  constexpr explicit CpuFeatures(Feature... feature) noexcept
      : bits_((0u | ... | static_cast<std::uint32_t>(feature))) {}

  constexpr bool has(CpuFeature feature) const noexcept { return (bits_ & static_cast<std::uint32_t>(feature)) != 0; }
  constexpr bool contains(CpuFeatures other) const noexcept { return (other.bits_ & ~bits_) == 0; }
  constexpr void add(CpuFeature feature, bool present) noexcept {
    if (present) bits_ |= static_cast<std::uint32_t>(feature);
  }
  constexpr CpuFeatures without(CpuFeatures other) const noexcept {
    CpuFeatures rest;
    rest.bits_ = bits_ & ~other.bits_;
    return rest;
  }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr bool operator==(const CpuFeatures&) const noexcept = default;

 private:
  std::uint32_t bits_ = 0;
};

// The raw answers of an x86 CPU. `xcr0` is 0 where CPUID says XGETBV is not usable (no OSXSAVE).
struct X86CpuState {
  std::uint32_t max_leaf = 0;
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_1_eax = 0;  // of subleaf 1; 0 where there is none
  std::uint64_t xcr0 = 0;
};

// Pure decoding, apart from the instructions that read the state, so that any CPU can be imagined in a test.
CpuFeatures decode_x86(const X86CpuState& state) noexcept;
// `hwcap` is AT_HWCAP of Linux on AArch64.
CpuFeatures decode_aarch64(std::uint64_t hwcap) noexcept;

// Of the machine this runs on, read once.
const CpuFeatures& cpu_features() noexcept;

// One sentence naming what of `required` is missing from `present`; empty when nothing is.
std::string describe_missing(CpuFeatures required, CpuFeatures present);

}  // namespace mla_prolog::kernels
