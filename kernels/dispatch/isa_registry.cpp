#include "kernels/dispatch/isa_registry.hpp"

#include <array>
#include <cstdlib>
#include <string_view>

#include "kernels/dispatch/built_isa_units.hpp"
#include "kernels/gemm/gemm_kernels.hpp"
#include "mla_prolog/system.hpp"

namespace mla_prolog::kernels {
namespace {

struct Spec {
  Isa isa;
  const char* name;
  CpuFeatures required;
};

using enum CpuFeature;

// Weakest first.
constexpr std::array kSpecs{
    Spec{Isa::scalar, "scalar", CpuFeatures()},
    Spec{Isa::sse4_2, "sse4.2", CpuFeatures(sse4_2)},
    Spec{Isa::avx2, "avx2", CpuFeatures(avx, avx2, fma, f16c, os_ymm)},
    Spec{Isa::avx512, "avx512",
         CpuFeatures(avx, avx2, fma, avx512f, avx512bw, avx512dq, avx512vl, avx512cd, os_ymm, os_zmm)},
    Spec{Isa::avx512_vnni, "avx512-vnni",
         CpuFeatures(avx, avx2, fma, avx512f, avx512bw, avx512dq, avx512vl, avx512cd, avx512_vnni, os_ymm, os_zmm)},
    Spec{Isa::neon, "neon", CpuFeatures(asimd)},
    Spec{Isa::neon_dotprod, "neon-dotprod", CpuFeatures(asimd, asimddp)},
};

std::array<KernelSet, kSpecs.size()> make_sets() noexcept {
  std::array<KernelSet, kSpecs.size()> sets{};
  for (std::size_t i = 0; i < kSpecs.size(); ++i) {
    const Spec& spec = kSpecs[i];
    sets[i] = {spec.isa, spec.name, nullptr, nullptr, nullptr, spec.isa, spec.required};
    if (spec.isa == Isa::scalar) sets[i].rows = &reference_row_kernels();
    for (const IsaUnit* unit : kBuiltIsaUnits) {
      if (unit == nullptr || unit->isa != spec.isa) continue;
      sets[i].rows = unit->rows != nullptr ? unit->rows : &reference_row_kernels();
      sets[i].gemm = sets[i].gemm_without_pairs = unit->gemm;
      const bool has_pairs = unit->pairs != nullptr && unavailable_reason(sets[i], cpu_features()).empty() &&
                             cpu_features().has(avx512_bf16);
      if (has_pairs && unit->pairs->exact()) sets[i].gemm = &unit->pairs->kernels;
      sets[i].compiled_for = unit->compiled_for;
    }
  }
  return sets;
}

const KernelSet* find_set(Isa isa) noexcept {
  for (const KernelSet& set : kernel_sets()) {
    if (set.isa == isa) return &set;
  }
  return nullptr;
}

const KernelSet* find_set(std::string_view name) noexcept {
  for (const KernelSet& set : kernel_sets()) {
    if (name == set.name) return &set;
  }
  return nullptr;
}

std::string unknown_name(std::string_view name) {
  std::string text = "MLA_PROLOG_ISA names an unknown instruction set '";
  text += name;
  text += "'; known are auto";
  for (const KernelSet& set : kernel_sets()) {
    text += ", ";
    text += set.name;
  }
  return text;
}

}  // namespace

std::span<const KernelSet> kernel_sets() noexcept {
  static const std::array<KernelSet, kSpecs.size()> sets = make_sets();
  return sets;
}

std::string unavailable_reason(const KernelSet& set, CpuFeatures cpu) {
  if (set.rows == nullptr) return "this build does not contain it";
  return describe_missing(set.required, cpu);
}

KernelSetChoice choose_kernel_set(Isa requested, const char* environment, CpuFeatures cpu) {
  const bool from_environment = requested == Isa::automatic && environment != nullptr && *environment != '\0' &&
                                std::string_view(environment) != "auto";
  const KernelSet* forced = nullptr;
  if (from_environment) {
    forced = find_set(std::string_view(environment));
    if (forced == nullptr) return {nullptr, unknown_name(environment)};
  } else if (requested != Isa::automatic) {
    forced = find_set(requested);
    if (forced == nullptr) return {nullptr, "isa is not a value of the enumeration"};
  }
  if (forced != nullptr) {
    const std::string reason = unavailable_reason(*forced, cpu);
    if (reason.empty()) return {forced, {}};
    std::string error = from_environment ? "MLA_PROLOG_ISA asks for " : "isa ";
    error += forced->name;
    error += from_environment ? ", which is not available: " : " is not available: ";
    return {nullptr, error + reason};
  }
  const std::span<const KernelSet> sets = kernel_sets();
  std::size_t best = sets.size() - 1;
  while (best > 0 && !unavailable_reason(sets[best], cpu).empty()) --best;
  return {&sets[best], {}};  // scalar, at index 0, needs nothing
}

KernelSetChoice choose_kernel_set(Isa requested) {
  return choose_kernel_set(requested, std::getenv("MLA_PROLOG_ISA"), cpu_features());
}

}  // namespace mla_prolog::kernels

namespace mla_prolog {

std::vector<IsaInfo> list_isas() {
  std::vector<IsaInfo> list;
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    std::string reason = kernels::unavailable_reason(set, kernels::cpu_features());
    const bool available = reason.empty();
    list.push_back({set.isa, available, std::move(reason)});
  }
  return list;
}

}  // namespace mla_prolog
