// xsimd under a name of the including unit's own.
//
// xsimd's functions are inline with external linkage, and those of a lesser set are also instantiated in the unit of a
// greater one (an AVX-512 batch of bytes falls back on AVX2 code, and so on). Where the compiler does not inline them,
// the linker keeps one copy for all units, perhaps the one with instructions that the CPU lacks. With a namespace per
// unit there is nothing to merge.
#pragma once

#if !defined(MLA_PROLOG_ISA_NAME)
#error "only for units that mla_prolog_add_isa() compiles"
#endif

#define MLA_PROLOG_JOIN_EXPANDED(a, b) a##b
#define MLA_PROLOG_JOIN(a, b) MLA_PROLOG_JOIN_EXPANDED(a, b)
#define xsimd MLA_PROLOG_JOIN(mla_prolog_xsimd_, MLA_PROLOG_ISA_NAME)
#include <xsimd/xsimd.hpp>

namespace mla_prolog::kernels {
namespace {
namespace xs = xsimd;
}  // namespace
}  // namespace mla_prolog::kernels

#undef xsimd
