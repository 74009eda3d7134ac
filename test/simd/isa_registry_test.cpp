// The registry of kernel sets: listing, choosing, forcing and refusing, on imagined CPUs and on this one.
#include "kernels/dispatch/isa_registry.hpp"

#include <cstdlib>
#include <string>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"

namespace mla_prolog::kernels {
namespace {

using enum CpuFeature;

constexpr CpuFeatures kOldCpu(sse4_2);
constexpr CpuFeatures kAvx2Cpu(sse4_2, avx, avx2, fma, f16c, os_ymm);
constexpr CpuFeatures kVnniCpu(sse4_2, avx, avx2, fma, f16c, avx512f, avx512bw, avx512dq, avx512vl, avx512cd,
                               avx512_vnni, os_ymm, os_zmm);

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const KernelSet& set_of(Isa isa) {
  for (const KernelSet& set : kernel_sets()) {
    if (set.isa == isa) return set;
  }
  FAIL("no such set");
  return kernel_sets()[0];
}

TEST_CASE("every instruction set is listed once under its public name, scalar first", "[dispatch]") {
  REQUIRE(kernel_sets().size() == 7);
  REQUIRE(kernel_sets()[0].isa == Isa::scalar);
  REQUIRE(kernel_sets()[0].rows == &reference_row_kernels());
  int index = static_cast<int>(Isa::scalar);
  for (const KernelSet& set : kernel_sets()) {
    REQUIRE(static_cast<int>(set.isa) == index++);
    REQUIRE(to_string(set.isa) == set.name);
    REQUIRE(parse<Isa>(set.name) == set.isa);
  }
}

TEST_CASE("a set's unit was compiled for that set", "[dispatch]") {
  for (const KernelSet& set : kernel_sets()) {
    INFO(set.name);
    REQUIRE(set.compiled_for == set.isa);
  }
}

TEST_CASE("sets of another architecture are refused as not built", "[dispatch]") {
#if defined(__aarch64__)
  const Isa foreign = Isa::avx2;
#else
  const Isa foreign = Isa::neon;
#endif
  REQUIRE(unavailable_reason(set_of(foreign), kVnniCpu) == "this build does not contain it");
}

#if defined(__x86_64__)
Isa chosen(Isa requested, const char* environment, CpuFeatures cpu) {
  const KernelSetChoice choice = choose_kernel_set(requested, environment, cpu);
  INFO(choice.error);
  REQUIRE(choice);
  return choice.set->isa;
}

TEST_CASE("the best set that the CPU has is chosen", "[dispatch]") {
  REQUIRE(chosen(Isa::automatic, nullptr, CpuFeatures()) == Isa::scalar);
  REQUIRE(chosen(Isa::automatic, nullptr, kOldCpu) == Isa::sse4_2);
  REQUIRE(chosen(Isa::automatic, "", kAvx2Cpu) == Isa::avx2);
  REQUIRE(chosen(Isa::automatic, "auto", kVnniCpu) == Isa::avx512_vnni);
  REQUIRE(chosen(Isa::automatic, nullptr, kVnniCpu.without(CpuFeatures(avx512_vnni))) == Isa::avx512);
  // One missing part of AVX-512, or an operating system that does not know it: the next lower set.
  REQUIRE(chosen(Isa::automatic, nullptr, kVnniCpu.without(CpuFeatures(avx512bw))) == Isa::avx2);
  REQUIRE(chosen(Isa::automatic, nullptr, kVnniCpu.without(CpuFeatures(os_zmm))) == Isa::avx2);
  REQUIRE(chosen(Isa::automatic, nullptr, kAvx2Cpu.without(CpuFeatures(fma))) == Isa::sse4_2);
  REQUIRE(chosen(Isa::automatic, nullptr, kAvx2Cpu.without(CpuFeatures(os_ymm))) == Isa::sse4_2);
}

TEST_CASE("an option forces a lesser set, and wins over the environment", "[dispatch]") {
  REQUIRE(chosen(Isa::sse4_2, nullptr, kVnniCpu) == Isa::sse4_2);
  REQUIRE(chosen(Isa::automatic, "avx2", kVnniCpu) == Isa::avx2);
  REQUIRE(chosen(Isa::automatic, "scalar", kVnniCpu) == Isa::scalar);
  REQUIRE(chosen(Isa::avx2, "sse4.2", kVnniCpu) == Isa::avx2);
  REQUIRE(chosen(Isa::avx2, "nonsense", kVnniCpu) == Isa::avx2);
}

TEST_CASE("forcing what the CPU lacks is refused by name", "[dispatch]") {
  const KernelSetChoice by_option = choose_kernel_set(Isa::avx512, nullptr, kAvx2Cpu);
  REQUIRE_FALSE(by_option);
  REQUIRE(contains(by_option.error, "avx512"));
  REQUIRE(contains(by_option.error, "AVX512F"));

  const KernelSetChoice by_environment = choose_kernel_set(Isa::automatic, "avx512-vnni", kAvx2Cpu);
  REQUIRE_FALSE(by_environment);
  REQUIRE(contains(by_environment.error, "MLA_PROLOG_ISA"));
  REQUIRE(contains(by_environment.error, "avx512-vnni"));
  REQUIRE(contains(by_environment.error, "AVX512_VNNI"));

  const KernelSetChoice foreign = choose_kernel_set(Isa::neon, nullptr, kVnniCpu);
  REQUIRE_FALSE(foreign);
  REQUIRE(contains(foreign.error, "neon"));
}
#endif

TEST_CASE("an unknown name is refused with the known ones", "[dispatch]") {
  const KernelSetChoice choice = choose_kernel_set(Isa::automatic, "avx3", kVnniCpu);
  REQUIRE_FALSE(choice);
  REQUIRE(contains(choice.error, "'avx3'"));
  REQUIRE(contains(choice.error, "avx512-vnni"));
  REQUIRE_FALSE(choose_kernel_set(Isa::automatic, "AVX2", kVnniCpu));  // names are case-sensitive
  REQUIRE_FALSE(choose_kernel_set(static_cast<Isa>(99), nullptr, kVnniCpu));
}

TEST_CASE("the public list tells the same as the registry", "[dispatch]") {
  const std::vector<IsaInfo> list = list_isas();
  REQUIRE(list.size() == kernel_sets().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    REQUIRE(list[i].isa == kernel_sets()[i].isa);
    REQUIRE(list[i].available == list[i].reason.empty());
    REQUIRE(list[i].reason == unavailable_reason(kernel_sets()[i], cpu_features()));
  }
  REQUIRE(list[0].available);
}

// Run once per set with MLA_PROLOG_ISA set to it, and under emulated CPUs with the best set that they have.
TEST_CASE("this process chooses what it is told to", "[dispatch]") {
  const KernelSetChoice choice = choose_kernel_set();
  const char* forced = std::getenv("MLA_PROLOG_ISA");
  const char* expected = std::getenv("MLA_PROLOG_TEST_EXPECT_ISA");
  if (forced != nullptr && std::string(forced) != "auto") {
    if (!choice) {
      INFO(choice.error);
      REQUIRE_FALSE(unavailable_reason(set_of(parse<Isa>(forced).value()), cpu_features()).empty());
      REQUIRE(contains(choice.error, forced));
      return;
    }
    REQUIRE(std::string(choice.set->name) == forced);
  }
  REQUIRE(choice);
  REQUIRE(choice.set->compiled_for == choice.set->isa);
  if (expected != nullptr) REQUIRE(std::string(choice.set->name) == expected);
}

}  // namespace
}  // namespace mla_prolog::kernels
