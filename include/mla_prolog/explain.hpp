// How a plan spreads a call over threads, what its cost model expects of that, and how long each piece really takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "mla_prolog/prepare.hpp"

namespace mla_prolog {

/// Half-open ranges of a stage's work. Tokens are those of the call (the stage "B" counts rows: one of c^Q and, where a
/// cache is written, one of c^KV for each token). Columns are columns of the weights, or heads, or a single one.
struct WorkRange {
  std::int64_t first_token = 0, tokens = 0;
  std::int64_t first_column = 0, columns = 0;
  std::int64_t first_k = 0, k = 0;

  friend bool operator==(const WorkRange&, const WorkRange&) = default;
};

/// A tile and the thread that computes it; times count from the call's beginning.
struct TileTimes {
  std::size_t stage = 0;  ///< index into Explanation::stages
  int thread = 0;
  std::int64_t block = 0;
  WorkRange range;
  double begin_seconds = 0;
  double end_seconds = 0;
};

struct StageSummary {
  std::string name;
  WorkRange block;  ///< all of it, for the largest block; tokens count from the block's first
  WorkRange unit;   ///< what is dealt out to threads: counts only
  double macs = 0;  ///< of all threads and blocks, as the next three
  double weight_bytes = 0;
  double compute_seconds = 0;
  double memory_seconds = 0;
  std::vector<double> thread_seconds;  ///< expected of each thread, by the native kernels' rates
  /// What multiplies: "native", or "oneDNN" with its implementation where weights are prepared for it. Empty for stages
  /// without a matmul; where C and D run as one and differ, both.
  std::string engine;

  MLA_PROLOG_API double busiest_seconds() const noexcept;
};

struct Explanation {
  int threads = 1;
  int crews = 1;  ///< each works on its own blocks of tokens
  int crew_threads = 1;
  std::int64_t blocks = 0;
  std::int64_t block_tokens = 0;  ///< of the largest
  std::vector<StageSummary> stages;
  double barrier_seconds = 0;
  double expected_seconds = 0;  ///< the critical path, with all barriers
  double ideal_seconds = 0;     ///< all work done once and spread evenly, or all weights read once
  std::vector<TileTimes> tiles;
};

/// The plan's schedule, simulated. Needs no tensors, and no machine with as many threads. Without stages for backends
/// that follow no schedule (reference, ascend) and when there is nothing to compute.
MLA_PROLOG_API Explanation explain(const Plan& plan);

/// Room for what `run` notes of one call.
class MLA_PROLOG_API Recording {
 public:
  explicit Recording(const Plan& plan);
  ~Recording();
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;

  /// Tiles of the last call, thread by thread in order of time. A team that turned out smaller than planned has other
  /// tiles than `explain` says. Empty for backends that follow no schedule.
  std::vector<TileTimes> tiles() const;
  /// Seconds of the last call, checks included.
  double seconds() const noexcept;

  struct Impl;
  Impl& impl() noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// As `run` of plan.hpp, noting each tile's times. `recording` was made for this plan and is in use by one call only.
MLA_PROLOG_API Status run(const Plan& plan, const Tensors& tensors, void* workspace, std::size_t workspace_bytes,
                          Recording& recording) noexcept;

/// As `run` of prepare.hpp, noting each tile's times, whichever engine multiplies.
MLA_PROLOG_API Status run(const Plan& plan, const PreparedWeights& weights, const Tensors& tensors, void* workspace,
                          std::size_t workspace_bytes, Recording& recording) noexcept;

}  // namespace mla_prolog
