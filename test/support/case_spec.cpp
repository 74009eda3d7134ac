#include "test/support/case_spec.hpp"

#include <algorithm>
#include <sstream>

#include "test/support/options.hpp"
#include "test/support/oracle_cache.hpp"

namespace mla_prolog::test {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t multiply_adds(const ProblemConfig& c) {
  return c.he * (c.hcq + 576) + c.n * (c.hcq * (c.d + 64) + c.d * 512);
}

void choose_sizes(Rng& rng, ProblemConfig& c) {
  constexpr std::int64_t kMost = 700000;  // multiply-adds of a token
  const std::int64_t group = c.weight_quant_mode == 0 ? 16 : 32;
  do {
    // 512 and 1024 are chunk boundaries of the summation; the sizes past them have a short last chunk.
    c.he = rng.chance(0.2) ? rng.pick({512, 544, 1024, 1056}) : rng.pick({32, 64, 96, 160, 288});
    c.hcq = rng.chance(0.1) ? rng.pick({512, 576, 1088}) : rng.pick({64, 128, 192, 320});
    c.n = rng.chance(0.1) ? 22 : rng.pick({1, 2, 3, 5});
    c.d = rng.pick({16, 32, 48, 64, 128, 192});
  } while (multiply_adds(c) > kMost || c.n * (c.d + 64) % group != 0);
}

void choose_tokens(Rng& rng, ProblemConfig& c, std::int64_t most) {
  // Blocks of 4 to 128 tokens are what tiled code may treat alike: sizes around and above them, rarely.
  const std::int64_t wanted = rng.chance(0.9)   ? rng.integer(1, 9)
                              : rng.chance(0.8) ? rng.integer(10, 40)
                                                : rng.integer(60, 140);
  const std::int64_t t = std::min(wanted, most);
  if (c.cache_mode == CacheMode::bsnd || (c.cache_mode != CacheMode::tnd && rng.chance(0.4))) {
    c.batched = true;
    c.batch = std::min<std::int64_t>(t, rng.integer(1, 4));
    c.seq = ceil_div(t, c.batch);
  } else {
    c.tokens = t;
  }
}

void choose_sequences(Rng& rng, CaseSpec& spec) {
  ProblemConfig& c = spec.config;
  c.sequences = rng.integer(1, 4);
  std::vector<std::int32_t> sums;
  for (std::int64_t b = 0; b + 1 < c.sequences; ++b)
    sums.push_back(static_cast<std::int32_t>(rng.integer(0, c.tokens)));
  // The last sum is T, or less: the rest of the tokens then go on in the last sequence.
  sums.push_back(static_cast<std::int32_t>(rng.chance(0.7) ? c.tokens : rng.integer(0, c.tokens)));
  std::sort(sums.begin(), sums.end());
  std::int64_t begin = 0;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const bool last = b + 1 == sums.size();
    const std::int64_t end = last ? std::max<std::int64_t>(c.tokens, sums[b]) : sums[b];
    c.block_table_entries += ceil_div(end - begin, c.block_size);
    begin = end;
  }
  spec.prefix_sums = sums;
}

void choose_cache(Rng& rng, CaseSpec& spec) {
  ProblemConfig& c = spec.config;
  spec.distinct_slots = rng.chance(0.5);
  if (!is_paged(c.cache_mode)) return;
  c.block_size = is_nz_cache(c.cache_mode) ? rng.pick({16, 32, 48}) : rng.pick({1, 3, 5, 16, 48, 128});
  if (is_block_table(c.cache_mode) && !c.batched) choose_sequences(rng, spec);
  const std::int64_t blocks = is_block_table(c.cache_mode)
                                  ? (c.batched ? c.batch * ceil_div(c.seq, c.block_size) : c.block_table_entries)
                                  : ceil_div(c.tokens + c.batch * c.seq, c.block_size);
  c.block_num = spec.distinct_slots ? blocks + rng.integer(0, 3) : rng.integer(1, blocks + 1);
  c.block_num = std::max<std::int64_t>(c.block_num, 1);
}

void choose_strides(Rng& rng, CaseSpec& spec) {
  const auto gap = [&] { return rng.chance(0.5) ? 0 : rng.pick({1, 7, 32, 100}); };
  spec.token_x_gap = gap();
  spec.kv_gap = gap();
  spec.kr_gap = gap();
  spec.interleaved = !spec.per_tile() && rng.chance(0.3);
}

}  // namespace

const std::vector<Modes>& all_modes() {
  static const std::vector<Modes> modes{{0, 0}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}, {3, 0},
                                        {3, 1}, {3, 3}, {4, 0}, {4, 1}, {4, 3}, {5, 0}, {5, 1}, {5, 3}};
  return modes;
}

std::string CaseSpec::to_string() const {
  std::ostringstream text;
  text << "w" << config.weight_quant_mode << "kv" << config.kv_cache_quant_mode << " profile "
       << mla_prolog::to_string(profile) << " " << mla_prolog::to_string(config.cache_mode) << " ";
  if (config.batched) {
    text << "B " << config.batch << " S " << config.seq;
  } else {
    text << "T " << config.tokens;
  }
  text << " He " << config.he << " Hcq " << config.hcq << " N " << config.n << " D " << config.d;
  if (is_paged(config.cache_mode)) text << " blocks " << config.block_num << " x " << config.block_size;
  if (!prefix_sums.empty()) {
    text << " prefix sums";
    for (const std::int32_t sum : prefix_sums) text << " " << sum;
  }
  text << " eps " << rmsnorm_epsilon_cq << " " << rmsnorm_epsilon_ckv << " scales " << qc_qr_scale << " " << kc_scale;
  if (per_tile()) text << " alpha " << k_nope_clip_alpha;
  text << " gaps " << token_x_gap << " " << kv_gap << " " << kr_gap;
  if (interleaved) text << " interleaved";
  if (config.smooth_scales) text << " smooth";
  if (config.query_norm) text << " query_norm";
  if (!distinct_slots) text << " any slots";
  constexpr const char* kValues[] = {" ordinary", " saturating", " non-finite", " wild"};
  text << kValues[static_cast<std::size_t>(values)];
  return text.str();
}

CaseSpec random_spec(Rng& rng, const SpecChoices& choices) {
  CaseSpec spec;
  ProblemConfig& c = spec.config;
  const Modes modes = choices.modes ? *choices.modes : rng.pick(all_modes());
  c.weight_quant_mode = modes.weight_quant;
  c.kv_cache_quant_mode = modes.kv_cache_quant;
  if (choices.cache_mode) {
    c.cache_mode = *choices.cache_mode;
  } else if (spec.per_tile()) {
    c.cache_mode = rng.pick({CacheMode::pa_bsnd, CacheMode::bsnd, CacheMode::tnd});
  } else {
    c.cache_mode = rng.pick({CacheMode::pa_bsnd, CacheMode::pa_nz, CacheMode::pa_blk_bsnd, CacheMode::pa_blk_nz,
                             CacheMode::bsnd, CacheMode::tnd});
  }
  choose_sizes(rng, c);
  if (choices.tokens) {
    c.tokens = *choices.tokens;
  } else {
    choose_tokens(rng, c, choices.most_tokens);
  }
  choose_cache(rng, spec);
  if (choices.strides) choose_strides(rng, spec);

  if (c.weight_quant_mode < 3) spec.profile = rng.pick({Profile::automatic, Profile::a2, Profile::ascend950});
  c.smooth_scales = c.weight_quant_mode != 0 && c.weight_quant_mode != 3 && rng.chance(0.5);
  c.query_norm = rng.chance(0.5);
  spec.rmsnorm_epsilon_cq = rng.pick({1e-5, 1e-6, 0.0, 0.01});
  spec.rmsnorm_epsilon_ckv = rng.pick({1e-5, 1e-6, 0.0, 0.01});
  spec.qc_qr_scale = rng.pick({1.0, 1.00000005, 0.4, 10.0});
  spec.kc_scale = rng.pick({1.0, 1.00000005, 0.5, 3.0});
  spec.k_nope_clip_alpha = rng.pick({1.0F, 0.7F, 1.5F, 0.0F, -0.5F});
  if (choices.values) {
    spec.values = *choices.values;
  } else {
    spec.values = rng.pick({Values::ordinary, Values::ordinary, Values::non_finite, Values::wild});
  }
  if (spec.values == Values::wild && !exact_for_all_products()) spec.values = Values::non_finite;
  spec.data_seed = rng.next();
  return spec;
}

}  // namespace mla_prolog::test
