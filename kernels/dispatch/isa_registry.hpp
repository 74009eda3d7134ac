// The kernel sets of this build, one per instruction set: listed, queried, chosen, forced by name.
//
// Everything here runs when a plan is made, never in `run`.
#pragma once

#include <span>
#include <string>

#include "kernels/dispatch/cpu_features.hpp"
#include "kernels/row_kernels.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog::kernels {

struct GemmKernels;

// The kernels of one instruction set. All sets compute the same bits.
struct KernelSet {
  Isa isa;
  const char* name;         // as to_string(isa) and MLA_PROLOG_ISA spell it
  const RowKernels* rows;   // null only when the build lacks the set
  const GemmKernels* gemm;  // null: the reference matmuls
  // What `gemm` would be on a CPU without bf16 dot products: the same where this one has none, or none that are exact.
  const GemmKernels* gemm_without_pairs;
  // What the compiler flags of the set's own translation unit amount to: equal to `isa`, or the build is wired wrongly.
  Isa compiled_for;
  CpuFeatures required;
};

// Every set the library knows, weakest first, also those this build or CPU lacks. Index 0 is the scalar reference.
std::span<const KernelSet> kernel_sets() noexcept;

// Why `set` cannot run on a CPU with these features; empty when it can.
std::string unavailable_reason(const KernelSet& set, CpuFeatures cpu);

// A set, or why there is none.
struct KernelSetChoice {
  const KernelSet* set = nullptr;
  std::string error;

  explicit operator bool() const noexcept { return set != nullptr; }
};

// `automatic` takes the name in `environment` (the value of MLA_PROLOG_ISA; null, "" and "auto" say nothing), or else
// the best set that can run. A name that is unknown or cannot run is refused by that name, never replaced.
KernelSetChoice choose_kernel_set(Isa requested, const char* environment, CpuFeatures cpu);

// The same for this process and machine.
KernelSetChoice choose_kernel_set(Isa requested = Isa::automatic);

}  // namespace mla_prolog::kernels
