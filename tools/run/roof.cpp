#include "tools/run/roof.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "mla_prolog/system.hpp"
#include "tools/io/buffer.hpp"
#include "tools/run/machine.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Larger than the largest cache, so that reading it reaches memory, but not so large that the run shows it.
std::size_t stream_bytes() {
  constexpr std::size_t kLeast = std::size_t{128} << 20;
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const std::size_t beyond_cache = std::clamp(2 * last_level_cache_bytes(), kLeast, kMost);
  return std::min(beyond_cache, physical_memory() / 4) / 4096 * 4096;
}

// Four streams at once: one alone does not keep enough lines in flight.
std::uint64_t read_all(const std::uint64_t* data, std::size_t words) {
  constexpr std::size_t kStreams = 4;
  const std::size_t quarter = words / kStreams;
  std::uint64_t sums[kStreams] = {};
  for (std::size_t i = 0; i < quarter; i += 8) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      for (std::size_t j = 0; j < 8; ++j) sums[stream] += data[stream * quarter + i + j];
    }
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

double read_bandwidth(int threads) {
  const std::size_t bytes = stream_bytes();
  Buffer buffer(bytes);
  const auto words = buffer.as<std::uint64_t>();
  const std::size_t share = words.size() / static_cast<std::size_t>(threads) / 32 * 32;
  if (share == 0) return std::numeric_limits<double>::infinity();
  std::uint64_t sum = 0;
  double best = 0.0;
  constexpr int kRounds = 4;  // the first touches the pages
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(^ : sum)
    for (int thread = 0; thread < threads; ++thread) {
      std::uint64_t* const data = words.data() + static_cast<std::size_t>(thread) * share;
      if (round == 0) {
        std::fill_n(data, share, static_cast<std::uint64_t>(thread) + 1);
      } else {
        sum ^= read_all(data, share);
      }
    }
    const double seconds = seconds_since(start);
    const double read = static_cast<double>(share * sizeof(std::uint64_t)) * threads;
    if (round > 0) best = std::max(best, read / seconds);
  }
  // The sum is used so that the reads are not optimised away.
  return sum == 1 ? best + 1.0 : best;
}

using Peak = double (*)(std::int64_t) noexcept;

Peak peak_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512 || isa == Isa::avx512_vnni) return multiply_add_avx512;
  if (isa == Isa::avx2) return multiply_add_avx2;
#endif
  return multiply_add_base;
}

Peak int8_peak_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512_vnni) return int8_dot_avx512_vnni;
  if (isa == Isa::avx512) return int8_dot_avx512;
  if (isa == Isa::avx2) return int8_dot_avx2;
#elif defined(__aarch64__)
  if (isa == Isa::neon_dotprod) return int8_dot_neon_dotprod;
#endif
  return int8_dot_base;
}

double operations_per_second(Peak peak, int threads) {
  constexpr std::int64_t kRounds = 4'000'000;
  double best = 0.0;
  for (int round = 0; round < 3; ++round) {
    double operations = 0.0;
    const auto start = Clock::now();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : operations)
    for (int thread = 0; thread < threads; ++thread) operations += peak(kRounds);
    best = std::max(best, operations / seconds_since(start));
  }
  return best;
}

double dim(const TensorDesc& desc, int axis) { return static_cast<double>(desc.shape[static_cast<std::size_t>(axis)]); }

}  // namespace

Roof measure_roof(Isa isa, int threads) {
  const int useful = std::min(threads, default_threads());  // more than there are CPUs find nothing more
  const double float32 = operations_per_second(peak_of(isa), useful);
  // Codes may be multiplied in float32 too, where that is faster.
  return {read_bandwidth(useful), float32, std::max(float32, operations_per_second(int8_peak_of(isa), useful))};
}

Work work_of(const Problem& problem) {
  Work work;
  const TensorDesc& x = problem.token_x;
  const double he = dim(x, x.rank - 1);
  const double tokens = he > 0 ? static_cast<double>(x.numel()) / he : 0.0;
  const double heads = dim(problem.weight_uk, 0);
  const double d = dim(problem.weight_uk, 1);
  const double hcq = dim(problem.rmsnorm_gamma_cq, 0);
  for (const TensorId id : all_tensors()) {
    const TensorDesc& desc = problem[id];
    if (!desc.present() || desc.has_zero_elements()) continue;
    // Of the caches only the rows of the tokens are touched.
    work.bytes += is_cache(id) ? tokens * dim(desc, desc.rank - 1) * static_cast<double>(element_size(desc.dtype))
                               : static_cast<double>(desc.extent_bytes());
  }
  constexpr double kLatent = kHckv + kDr;
  const auto multiply = [&work, tokens](const TensorDesc& weight, double weights) {
    const double operations = 2.0 * tokens * weights;
    work.flops += operations;
    if (weight.dtype == DType::int8) work.int8 += operations;
  };
  multiply(problem.weight_dq, he * hcq);
  multiply(problem.weight_dkv_kr, he * kLatent);
  multiply(problem.weight_uq_qr, hcq * heads * (d + kDr));
  multiply(problem.weight_uk, heads * d * kHckv);
  return work;
}

double ideal_seconds(const Work& work, const Roof& roof) noexcept {
  const double compute = (work.flops - work.int8) / roof.flops_per_second + work.int8 / roof.int8_per_second;
  return std::max(work.bytes / roof.bytes_per_second, compute);
}

}  // namespace mla_prolog::tools
