// Native kernels against oneDNN, each stage's matmul as the fused scheduler calls it: one thread, a block of tokens,
// all columns of DeepSeek-V3's weights, the two in turn so that a drifting machine does not decide.
//
//   bench_engines [rounds]
//
// Prints billions of multiply-adds per second, and the time of oneDNN over the native time (medians). The
// numbers of runtime/backend/onednn/cost.cpp come from here.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <vector>

#include "kernels/dispatch/cpu_features.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "runtime/backend/cpu/matmul.hpp"
#include "runtime/backend/onednn/probe.hpp"

namespace {

using namespace mla_prolog;
using cpu::MatmulPlan;
using cpu::Matrix;

class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new (bytes + 64, std::align_val_t{64}))) {
    // Small numbers in every type: bf16 of about 1e-3, int8 of all sizes.
    std::uint32_t seed = 1;
    for (std::size_t i = 0; i < bytes; ++i) {
      seed = seed * 1664525U + 1013904223U;
      data_[i] = i % 2 == 1 ? std::byte{0x3A} : static_cast<std::byte>(seed >> 24);
    }
  }
  ~Memory() { ::operator delete (data_, std::align_val_t{64}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

struct StageShape {
  const char* name;
  std::int64_t k;
  std::int64_t columns;  // of a call
  std::int64_t calls;
};
constexpr StageShape kStages[] = {{"A", 7168, 64, 33}, {"C", 1536, 192, 128}, {"D", 128, 128, 512}};

// Of the processor, so that other work on the machine counts little.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(const MatmulPlan& plan, const StageShape& stage, std::int64_t tokens, const Memory& left,
                  const Memory& weights, const std::byte* prepared, const Memory& packed, const Memory& results,
                  const Memory& scratch) {
  const double start = thread_seconds();
  Matrix matrix = Matrix::nz(weights.data(), stage.k, nullptr);
  matrix.prepared = prepared;
  const cpu::PackedLeft x = plan.pack_alone({left.data(), stage.k, nullptr}, 0, tokens, 0, stage.k, packed.data());
  for (std::int64_t call = 0; call < stage.calls; ++call) {
    plan.multiply(matrix, call * stage.columns, (call + 1) * stage.columns, x, 0, tokens, 0, stage.k, false,
                  results.data(), stage.columns, scratch.data());
  }
  return thread_seconds() - start;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void compare(const kernels::GemmKernels& kernels, const StageShape& stage, onednn::Type type, std::int64_t tokens,
             int rounds) {
  const onednn::MadeMatmul made =
      onednn::make_matmul({.type = type, .k = stage.k, .columns = stage.columns, .max_tokens = tokens});
  if (made.matmul == nullptr || !onednn::unusable(*made.matmul).empty()) {
    std::printf("%s %-12s T %3lld  refused: %s\n", stage.name, onednn::name(type), static_cast<long long>(tokens),
                made.matmul == nullptr ? made.reason.c_str() : onednn::unusable(*made.matmul).c_str());
    return;
  }
  const Operand operand = type == onednn::Type::s8 ? Operand::int8 : Operand::bf16;
  const MatmulPlan native(kernels, operand, tokens, stage.k);
  MatmulPlan engine(kernels, operand, tokens, stage.k);
  engine.set_engine(made.matmul);
  const std::int64_t total = stage.columns * stage.calls;
  const Memory left(static_cast<std::size_t>(tokens * stage.k * 2));
  const Memory weights(static_cast<std::size_t>(stage.k * total * 2));
  const Memory prepared(static_cast<std::size_t>(onednn::block_stride(*made.matmul) * stage.calls));
  const Memory packed(std::max(native.all_bytes(), engine.all_bytes()));
  const Memory results(static_cast<std::size_t>(tokens * stage.columns * 4));
  const Memory scratch(std::max(native.scratch_bytes(), engine.scratch_bytes()));
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int round = 0; round <= rounds; ++round) {
    const double a = seconds_of(native, stage, tokens, left, weights, nullptr, packed, results, scratch);
    const double b = seconds_of(engine, stage, tokens, left, weights, prepared.data(), packed, results, scratch);
    if (round == 0) continue;  // touches the memory
    ours.push_back(a);
    theirs.push_back(b);
  }
  const double macs = static_cast<double>(stage.k) * static_cast<double>(total * tokens) * 1e-9;
  std::printf("%s %-12s T %3lld  native %7.1f  oneDNN %7.1f GMAC/s  time oneDNN/native %.2f  (%s)\n", stage.name,
              onednn::name(type), static_cast<long long>(tokens), macs / median(ours), macs / median(theirs),
              median(theirs) / median(ours), made.matmul->implementation().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  const kernels::KernelSetChoice best = kernels::choose_kernel_set(Isa::automatic);
  if (!best || best.set->gemm == nullptr || onednn::version().empty()) {
    std::printf("SKIPPED: this build or CPU lacks native matmul kernels or oneDNN\n");
    return 0;
  }
  std::printf("isa %s, oneDNN %s, one thread, median of %d\n", best.set->name, onednn::version().c_str(), rounds);
  for (const onednn::Type type : onednn::kTypes) {
    for (const StageShape& stage : kStages) {
      if (type == onednn::Type::s8 && stage.k == 128) continue;  // weight_uk is bf16 in every scenario
      for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 240}) {
        compare(*best.set->gemm, stage, type, tokens, rounds);
      }
    }
  }
  return 0;
}
