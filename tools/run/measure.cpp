#include "tools/run/measure.hpp"

#include <algorithm>
#include <chrono>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {

Timing run_and_time(const Plan& plan, Operands& operands, std::optional<int> repeats) {
  constexpr int kLeast = 3;
  constexpr int kMost = 100;
  constexpr double kEnough = 0.5;
  constexpr double kTooMuch = 2.0;
  const Tensors tensors = operands.pointers();
  const PreparedWeights weights = prepare_or_throw(plan, operands);
  Buffer workspace(plan.workspace_bytes());
  std::vector<double> seconds;
  double total = 0.0;
  const auto more = [&] {
    const int done = static_cast<int>(seconds.size());
    if (repeats) return done < *repeats;
    if (done < kLeast) return done == 0 || total < kTooMuch;
    return total < kEnough && done < kMost;
  };
  while (more()) {
    const auto start = std::chrono::steady_clock::now();
    const Status status = run(plan, weights, tensors, workspace.data(), workspace.size());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!status.ok()) throw UsageError("run: " + message(status));
    seconds.push_back(elapsed.count());
    total += elapsed.count();
  }
  Timing timing;
  timing.first_seconds = seconds.front();
  timing.repeats = static_cast<int>(seconds.size());
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  timing.median_seconds = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return timing;
}

}  // namespace mla_prolog::tools
