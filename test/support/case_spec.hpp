// One random call of the operator, described: scenario, sizes, cache, strides, and the seed of its data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mla_prolog/problem.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {

/// A weight_quant_mode with one of its kv_cache_quant_modes.
struct Modes {
  std::int64_t weight_quant;
  std::int64_t kv_cache_quant;
};
/// All 16 scenarios.
const std::vector<Modes>& all_modes();

enum class Values : std::uint8_t {
  ordinary,    ///< finite, of moderate size with a heavy tail; 8-bit codes over their whole range
  saturating,  ///< int8 codes at their limits only, which overflows whatever adds products in fewer than 32 bits
  non_finite,  ///< some rows and elements are zero, NaN or infinite
  wild         ///< any bits besides: subnormals, and values whose products leave float32
};

struct CaseSpec {
  ProblemConfig config;
  Profile profile = Profile::automatic;
  double rmsnorm_epsilon_cq = 1e-5;
  double rmsnorm_epsilon_ckv = 1e-5;
  double qc_qr_scale = 1.0;
  double kc_scale = 1.0;
  float k_nope_clip_alpha = 1.0F;
  std::vector<std::int32_t> prefix_sums;  ///< 2-D tokens with PA_BLK_*
  bool distinct_slots = true;             ///< else negative indices and duplicates occur
  std::int64_t token_x_gap = 0;           ///< elements between rows
  std::int64_t kv_gap = 0;                ///< elements between blocks
  std::int64_t kr_gap = 0;
  bool interleaved = false;  ///< blocks of kv_cache and kr_cache alternate in one piece of memory
  Values values = Values::ordinary;
  std::uint64_t data_seed = 0;

  std::int64_t tokens() const { return config.batched ? config.batch * config.seq : config.tokens; }
  bool per_tile() const { return config.kv_cache_quant_mode == 3; }
  std::string to_string() const;
};

struct SpecChoices {
  std::optional<Modes> modes;
  std::optional<CacheMode> cache_mode;
  std::optional<std::int64_t> tokens;  ///< 2-D tokens, so many
  std::optional<Values> values;
  std::int64_t most_tokens = 140;
  bool strides = true;
};

/// Anything the relaxed domain accepts, small enough to compute in about a millisecond a token.
CaseSpec random_spec(Rng& rng, const SpecChoices& choices = {});

}  // namespace mla_prolog::test
