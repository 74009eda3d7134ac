#include "bench/roofs.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace mla_prolog::bench {
namespace {

constexpr int kChains = 12;  // independent accumulators: more than latency times ports
constexpr std::int64_t kSteps = 200000;

template <typename Body>
double ops_per_second(int threads, Clock clock, double ops_per_step, Body body) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = now(clock, threads);
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads)
#endif
    body();
    best = std::max(best, threads * kSteps * ops_per_step / (now(clock, threads) - start));
  }
  return best;
}

#if defined(__x86_64__)

// Keeps a chain's value live in a register without touching memory.
#define MLA_PROLOG_BENCH_KEEP(v) asm volatile("" : "+x"(v))
#define MLA_PROLOG_BENCH_KEEP_ZMM(v) asm volatile("" : "+v"(v))

__attribute__((target("avx2,fma"))) void fma_avx2() {
  __m256 acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm256_setzero_ps();
    MLA_PROLOG_BENCH_KEEP(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m256 x = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm256_fmadd_ps(x, x, acc[c]);
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP(acc[c]);
}

__attribute__((target("avx512f"))) void fma_avx512() {
  __m512 acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm512_setzero_ps();
    MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m512 x = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    MLA_PROLOG_BENCH_KEEP_ZMM(x);
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_fmadd_ps(x, x, acc[c]);
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);
}

__attribute__((target("avx2"))) void madd_avx2() {
  __m256i acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm256_setzero_si256();
    MLA_PROLOG_BENCH_KEEP(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m256i x = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {  // in assembly: the compiler would copy registers
      __m256i product;
      asm volatile("vpmaddwd %2, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(acc[c]), "=&x"(product) : "x"(x));
    }
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP(acc[c]);
}

__attribute__((target("avx512f,avx512bw"))) void madd_avx512() {
  __m512i acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm512_setzero_si512();
    MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m512i x = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      MLA_PROLOG_BENCH_KEEP_ZMM(x);
      acc[c] = _mm512_add_epi32(acc[c], _mm512_madd_epi16(x, x));
    }
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);
}

__attribute__((target("avx512f,avx512vnni"))) void dot_avx512() {
  __m512i acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm512_setzero_si512();
    MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m512i x = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    MLA_PROLOG_BENCH_KEEP_ZMM(x);
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_dpbusd_epi32(acc[c], x, x);
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP_ZMM(acc[c]);
}

__attribute__((target("sse4.2"))) void madd_sse() {
  __m128i acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm_setzero_si128();
    MLA_PROLOG_BENCH_KEEP(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m128i x = _mm_setzero_si128();
  for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      MLA_PROLOG_BENCH_KEEP(x);
      acc[c] = _mm_add_epi32(acc[c], _mm_madd_epi16(x, x));
    }
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP(acc[c]);
}

void multiply_add_sse() {
  __m128 acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = _mm_setzero_ps();
    MLA_PROLOG_BENCH_KEEP(acc[c]);  // chains that the compiler cannot know to be equal
  }
  __m128 x = _mm_setzero_ps();
  for (std::int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      MLA_PROLOG_BENCH_KEEP(x);
      acc[c] = _mm_add_ps(acc[c], _mm_mul_ps(x, x));
    }
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) MLA_PROLOG_BENCH_KEEP(acc[c]);
}

#elif defined(__aarch64__)

void fma_neon() {
  float32x4_t acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) {
    acc[c] = vdupq_n_f32(0);
    asm volatile("" : "+w"(acc[c]));  // chains that the compiler cannot know to be equal
  }
  float32x4_t x = vdupq_n_f32(0);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    asm volatile("" : "+w"(x));
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = vfmaq_f32(acc[c], x, x);
  }
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) asm volatile("" : "+w"(acc[c]));
}

#endif

}  // namespace

double now(Clock clock, int threads) {
  if (clock == Clock::wall) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC / threads;
}

ColdMemory::ColdMemory(std::size_t bytes, int copies) : bytes_(bytes) {
  for (int i = 0; i < copies; ++i) copies_.emplace_back(bytes, static_cast<std::byte>(i + 1));
}

const std::byte* ColdMemory::next() { return copies_[at_++ % copies_.size()].data(); }

double seconds_to_read(ColdMemory& memory, int threads, Clock clock) {
  const std::byte* data = memory.next();
  std::uint64_t sum = 0;
  const double start = now(clock, threads);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
#endif
  for (std::int64_t part = 0; part < threads; ++part) {
    const std::size_t share = memory.bytes() / static_cast<std::size_t>(threads) / 256 * 256;
    const std::byte* p = data + static_cast<std::size_t>(part) * share;
    // Four streams, prefetched: what a plain loop does not reach.
    const std::size_t quarter = share / 4 / 64 * 64;
    const auto* q = reinterpret_cast<const std::uint64_t*>(p);
    std::uint64_t s0 = 0;
    std::uint64_t s1 = 0;
    std::uint64_t s2 = 0;
    std::uint64_t s3 = 0;
    const std::size_t words = quarter / 8;
    for (std::size_t i = 0; i < words; i += 8) {
      __builtin_prefetch(q + i + 256);
      __builtin_prefetch(q + words + i + 256);
      __builtin_prefetch(q + 2 * words + i + 256);
      __builtin_prefetch(q + 3 * words + i + 256);
      s0 ^= q[i];
      s1 ^= q[words + i];
      s2 ^= q[2 * words + i];
      s3 ^= q[3 * words + i];
    }
    sum += s0 ^ s1 ^ s2 ^ s3;
  }
  const double seconds = now(clock, threads) - start;
  volatile std::uint64_t sink = sum;
  static_cast<void>(sink);
  return seconds;
}

double measure_float_ops(Isa isa, int threads, Clock clock) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
    case Isa::avx512_vnni:
      return ops_per_second(threads, clock, kChains * 32, fma_avx512);
    case Isa::avx2:
      return ops_per_second(threads, clock, kChains * 16, fma_avx2);
    default:
      return ops_per_second(threads, clock, kChains * 8, multiply_add_sse);
  }
#elif defined(__aarch64__)
  static_cast<void>(isa);
  return ops_per_second(threads, clock, kChains * 8, fma_neon);
#else
  static_cast<void>(isa);
  static_cast<void>(threads);
  static_cast<void>(clock);
  return 0;
#endif
}

double measure_int8_ops(Isa isa, int threads, Clock clock) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512_vnni:
      return ops_per_second(threads, clock, kChains * 128, dot_avx512);
    case Isa::avx512:
      return ops_per_second(threads, clock, kChains * 64, madd_avx512);
    case Isa::avx2:
      return ops_per_second(threads, clock, kChains * 32, madd_avx2);
    default:
      return ops_per_second(threads, clock, kChains * 16, madd_sse);
  }
#else
  return measure_float_ops(isa, threads, clock);
#endif
}

double Work::ideal_seconds(const Roofs& roofs) const {
  const double arithmetic = float_ops / roofs.float_ops + int8_ops / roofs.int8_ops;
  return std::max(weight_bytes / roofs.read_bytes, arithmetic);
}

Work work_of(const Layer& layer) {
  Work work;
  const auto add = [&](Operand operand, std::int64_t k, std::int64_t n, std::int64_t count) {
    const auto weights = static_cast<double>(k) * static_cast<double>(n) * static_cast<double>(count);
    const double ops = 2 * weights * static_cast<double>(layer.tokens);
    work.weight_bytes += weights * (operand == Operand::bf16 ? 2 : (operand == Operand::mx ? 1 + 1.0 / 32 : 1));
    (operand == Operand::int8 ? work.int8_ops : work.float_ops) += ops;
  };
  add(layer.x_operand, layer.he, layer.hcq + kDkvColumns, 1);
  add(layer.cq_operand, layer.hcq, layer.uq_columns(), 1);
  add(Operand::bf16, layer.d, kHckv, layer.n);
  return work;
}

}  // namespace mla_prolog::bench
