// What this machine can do at best, measured in the same run as what is compared with it.
#pragma once

#include <cstdint>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/types.hpp"

namespace mla_prolog::tools {

struct Roof {
  double bytes_per_second = 0.0;  ///< reading from memory, all threads together
  double flops_per_second = 0.0;  ///< float32 multiply-add, two operations each, all threads together
  double int8_per_second = 0.0;   ///< the same of the best exact int8 instruction, never less than float32's
};

/// Takes about half a second.
/// @param isa  the instruction set whose peaks count
Roof measure_roof(Isa isa, int threads);

/// What one call must at least do.
struct Work {
  double bytes = 0.0;  ///< weights and scales once, tokens in, outputs and cache rows out
  double flops = 0.0;  ///< two operations per multiply-add of the matmuls
  double int8 = 0.0;   ///< those of them that multiply int8
};
Work work_of(const Problem& problem);

/// The time that a machine at its roof would take: each matmul at the peak of its type. 8-bit floats are decoded and
/// multiplied in float32.
double ideal_seconds(const Work& work, const Roof& roof) noexcept;

/// Runs a fixed number of float32 multiply-adds, or of int8 ones, on one thread and returns how many operations that
/// were. One function per instruction set; only those of this architecture exist.
double multiply_add_base(std::int64_t rounds) noexcept;
double multiply_add_avx2(std::int64_t rounds) noexcept;
double multiply_add_avx512(std::int64_t rounds) noexcept;
double int8_dot_base(std::int64_t rounds) noexcept;
double int8_dot_avx2(std::int64_t rounds) noexcept;
double int8_dot_avx512(std::int64_t rounds) noexcept;
double int8_dot_avx512_vnni(std::int64_t rounds) noexcept;
double int8_dot_neon_dotprod(std::int64_t rounds) noexcept;

}  // namespace mla_prolog::tools
