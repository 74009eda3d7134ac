// What the options of `run` ask for, and what they come to together with a checkpoint and an input file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mla_prolog/problem.hpp"
#include "tools/model/checkpoint.hpp"
#include "tools/run/input_file.hpp"
#include "tools/run/scenario.hpp"

namespace mla_prolog::tools {

/// The options as typed; absent where the default applies.
struct RunRequest {
  std::optional<std::string> model;
  std::optional<std::int64_t> he, hcq, heads, nope_dim;
  std::int64_t tp = 1;
  std::optional<std::int64_t> tokens, batch, seq;
  std::optional<std::string> quant;
  std::string profile = "auto";
  std::string cache_mode = "PA_BSND";
  std::optional<std::int64_t> block_size, block_num;
  std::optional<double> eps_cq, eps_ckv;
  double qc_qr_scale = 1.0;
  double kc_scale = 1.0;
  std::optional<double> k_nope_clip_alpha;
  bool smooth = false;
  bool query_norm = false;
  std::vector<std::int64_t> sequence_ends;  ///< prefix sums of 2-D tokens with PA_BLK_*; empty: one sequence
  std::uint64_t seed = 1;
  std::int64_t positions = 0;
  std::optional<std::string> checkpoint;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> sublayer;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> save_inputs;
  std::optional<std::string> trace;
  std::string numerics = "strict";
};

/// Everything that does not change between scenarios.
struct RunSetting {
  std::string source;    ///< where dimensions and weights come from, for the report
  ProblemConfig config;  ///< without the quantisation modes
  std::int64_t total_heads = 0;
  Profile profile = Profile::automatic;
  std::vector<ScenarioName> scenarios;
  double eps_cq = 1e-5;
  double eps_ckv = 1e-5;
  RopeTableConfig rope;
  std::vector<std::int64_t> cache_index;     ///< slots or block ids; empty for BSND, TND
  std::vector<std::int64_t> actual_seq_len;  ///< prefix sums; 2-D tokens with PA_BLK_* only
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<InputFile> input;

  bool paged() const noexcept;
  bool by_block() const noexcept;
  bool single() const noexcept { return scenarios.size() == 1; }
  std::int64_t tokens() const noexcept { return config.batched ? config.batch * config.seq : config.tokens; }
  /// [T] or [B, S].
  std::vector<std::int64_t> lead() const;
};

/// Throws UsageError for options that are wrong or in conflict, InputError for files that are.
RunSetting resolve(const RunRequest& request);

}  // namespace mla_prolog::tools
