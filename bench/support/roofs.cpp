#include "bench/support/roofs.hpp"

#include <algorithm>
#include <bit>

#include "bench/support/clock.hpp"
#include "bench/support/peaks_table.hpp"
#include "runtime/backend/cpu/matmul.hpp"

namespace mla_prolog::bench {
namespace {

// Operations per second: the best of a few passes of each thread, all at once, summed. A thread that is interrupted in
// one pass is not in all.
template <typename Loop>
double best_rate(int threads, Loop&& loop) {
  constexpr int kPasses = 5;
  double rate = 0;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) reduction(+ : rate)
#else
  static_cast<void>(threads);
#endif
  {
    double best = 0;
    for (int pass = 0; pass < kPasses; ++pass) {
      double ops = 0;
      const double seconds = seconds_of([&] { ops = loop(); });
      best = std::max(best, ops / seconds);
    }
    rate += best;
  }
  return rate;
}

// Streams side by side, with prefetching so far ahead, or without. One word of each cache line is enough to fetch it.
template <std::size_t kStreams, std::size_t kAhead>
std::uint64_t read_lines(std::span<const std::byte> memory) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kFirstLevel = 2048;  // what is farther ahead waits in the second level
  const std::size_t stream = memory.size() / kStreams / kLine * kLine;
  std::uint64_t sums[kStreams] = {};
  for (std::size_t i = 0; i < stream; i += kLine) {
    for (std::size_t s = 0; s < kStreams; ++s) {
      const std::byte* p = memory.data() + s * stream + i;
      if constexpr (kAhead > 0) __builtin_prefetch(p + kAhead, 0, kAhead > kFirstLevel ? 2 : 3);
      sums[s] ^= *reinterpret_cast<const std::uint64_t*>(p);
    }
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum ^= s;
  return sum;
}

// Bytes per second of all threads, each reading its part.
template <typename Read>
double read_rate(std::span<const std::byte> memory, int threads, Read&& read) {
  const std::size_t share = memory.size() / static_cast<std::size_t>(threads) / 64 * 64;
  std::uint64_t sum = 0;
  const double seconds = seconds_of([&] {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(^ : sum)
#endif
    for (int part = 0; part < threads; ++part) {
      sum ^= read(memory.subspan(static_cast<std::size_t>(part) * share, share));
    }
  });
  asm volatile("" : : "r"(sum));  // what is not used would not be read
  return static_cast<double>(share * static_cast<std::size_t>(threads)) / seconds;
}

}  // namespace

const Peaks& peaks_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx512_vnni:
      return peaks_avx512_vnni;
    case Isa::avx512:
      return peaks_avx512;
    case Isa::avx2:
      return peaks_avx2;
    default:
      return peaks_sse4_2;
#else
    case Isa::neon_dotprod:
      return peaks_neon_dotprod;
    default:
      return peaks_neon;
#endif
  }
}

// The quickest of some ways, each over a part of its own: which one it is depends on the machine, its pages, and the
// hour.
double measure_read_bytes(std::span<const std::byte> memory, int threads) {
  const std::size_t part = memory.size() / 3 / 64 * 64;
  return std::max({read_rate(memory.first(part), threads, read_lines<4, 1024>),
                   read_rate(memory.subspan(part, part), threads, read_lines<8, 0>),
                   read_rate(memory.subspan(2 * part), threads, read_lines<8, 8192>)});
}

double measure_float_ops(Isa isa, int threads) {
  return best_rate(threads, [&] { return peaks_of(isa).multiply_add(100000); });
}

double measure_int8_ops(Isa isa, int threads) {
  return best_rate(threads, [&] { return peaks_of(isa).int8_dot(100000); });
}

double measure_decoded_ops(Isa isa, int threads, Operand operand, std::int64_t tokens) {
  // Above this the decoding does not show.
  constexpr std::int64_t kMostReuse = 256;
  const auto reuse = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(tokens, 1, kMostReuse))));
  const std::int64_t steps = 100000 / (reuse + 3);
  const auto loop = operand == Operand::hif8 ? peaks_of(isa).decode_hif8 : peaks_of(isa).decode_e4m3;
  return best_rate(threads, [&] { return loop(steps, reuse); });
}

double Work::ideal_seconds(const Roofs& roofs) const {
  double arithmetic = float_ops / roofs.float_ops;
  if (int8_ops > 0) arithmetic += int8_ops / roofs.int8_ops;
  if (decoded_ops > 0) arithmetic += decoded_ops / roofs.decoded_ops;
  return std::max(weight_bytes / roofs.read_bytes, arithmetic);
}

Work work_of(const Layer& layer) {
  Work work;
  const auto add = [&](Operand operand, std::int64_t k, std::int64_t n, std::int64_t count) {
    const auto weights = static_cast<double>(k) * static_cast<double>(n) * static_cast<double>(count);
    const double ops = 2 * weights * static_cast<double>(layer.tokens);
    work.weight_bytes += weights * cpu::weight_bytes(operand);
    (operand == Operand::bf16 ? work.float_ops : operand == Operand::int8 ? work.int8_ops : work.decoded_ops) += ops;
  };
  add(layer.x_operand, layer.he, layer.hcq + kDkvColumns, 1);
  add(layer.cq_operand, layer.hcq, layer.uq_columns(), 1);
  add(Operand::bf16, layer.d, kHckv, layer.n);
  return work;
}

Roofs measure_roofs(const Layer& layer, Isa isa, int threads, std::span<const std::byte> cold) {
  const Work work = work_of(layer);
  Roofs roofs;
  roofs.float_ops = measure_float_ops(isa, threads);
  if (work.int8_ops > 0) roofs.int8_ops = measure_int8_ops(isa, threads);
  if (work.decoded_ops > 0) roofs.decoded_ops = measure_decoded_ops(isa, threads, layer.cq_operand, layer.tokens);
  roofs.read_bytes = measure_read_bytes(cold, threads);
  return roofs;
}

}  // namespace mla_prolog::bench
