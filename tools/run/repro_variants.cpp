// Which ways there are to compute a case, and samples of them.
#include <algorithm>

#include "mla_prolog/system.hpp"
#include "tools/cases/generator.hpp"
#include "tools/cases/golden_case.hpp"
#include "tools/run/repro.hpp"

namespace mla_prolog::tools {
namespace {

constexpr int kThreads[] = {1, 2, 3, 7, 16};
constexpr Split kSplits[] = {Split::none, Split::first_apart, Split::halves, Split::all_apart};

struct Tiles {
  std::int64_t block_tokens;
  int crews;
};
constexpr Tiles kTiles[] = {{0, 0}, {1, 1}, {5, 0}, {12, 1}, {31, 0}};

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return splitmix64(seed_, drawn_++); }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

template <typename T, std::size_t N>
const T& pick(Random& random, const T (&from)[N]) {
  return from[random.next() % N];
}

const char* split_name(Split split) {
  switch (split) {
    case Split::none:
      return "one call";
    case Split::first_apart:
      return "first piece apart";
    case Split::halves:
      return "two calls";
    case Split::all_apart:
      return "a call for each piece";
  }
  return "";
}

// Whether there may be more than one piece: with block tables, several sequences or blocks.
bool can_split(const Problem& problem) {
  const std::int64_t tokens = problem.token_x.shape[0];
  if (problem.token_x.rank != 2 || tokens < 2) return false;
  return !has_block_table(problem.attributes.cache_mode) || problem.actual_seq_len.shape[0] > 1 ||
         tokens > problem.kv_cache.shape[1];
}

// Prefix sums of up to four sequences, some of them empty.
std::vector<std::int64_t> draw_sequences(Random& random, std::int64_t tokens) {
  std::vector<std::int64_t> ends{tokens};
  const std::uint64_t more = random.next() % 4;
  for (std::uint64_t i = 0; i < more; ++i) {
    ends.push_back(static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(tokens + 1)));
  }
  std::ranges::sort(ends);
  return ends;
}

bool onednn_takes(const Problem& problem, Profile profile, Isa isa) {
  return make_plan(problem, {.profile = profile, .backend = Backend::onednn, .isa = isa, .threads = 1}).ok();
}

}  // namespace

ReproCase repro_case(std::uint64_t seed, std::int64_t index, std::optional<std::int64_t> tokens) {
  constexpr std::int64_t kTokens[] = {1, 2, 3, 5, 8, 13, 17, 31, 33, 65};
  constexpr std::int64_t kHe[] = {64, 544, 1056};
  constexpr std::int64_t kHcq[] = {64, 192, 576};
  constexpr std::int64_t kHeads[] = {1, 2, 3, 22};
  constexpr std::int64_t kNope[] = {32, 64, 128, 192};
  constexpr const char* kCacheModes[] = {"PA_BSND", "PA_NZ", "TND", "PA_BLK_BSND", "PA_BLK_NZ"};
  Random random(seed + static_cast<std::uint64_t>(index) * 0x2545F4914F6CDD1DU);
  ReproCase result{.seed = seed, .index = index, .scenario = all_scenarios()[0], .request = {}};
  const auto scenarios = all_scenarios();
  result.scenario = scenarios[static_cast<std::size_t>(index) % scenarios.size()];
  RunRequest& request = result.request;
  request.tokens = tokens.value_or(pick(random, kTokens));
  request.he = pick(random, kHe);
  request.hcq = pick(random, kHcq);
  request.heads = pick(random, kHeads);
  request.nope_dim = pick(random, kNope);
  request.cache_mode = pick(random, kCacheModes);
  if (result.scenario.kv == 3 && request.cache_mode != "TND") request.cache_mode = "PA_BSND";
  if (request.cache_mode != "TND") request.block_size = 16;
  request.quant = result.scenario.text();
  request.smooth = result.scenario.takes_smooth_scales() && random.next() % 2 == 0;
  request.query_norm = random.next() % 2 == 0;
  request.seed = random.next();
  if (has_block_table(request.cache_mode)) request.sequence_ends = draw_sequences(random, *request.tokens);
  return result;
}

std::string ReproCase::text() const {
  return "case " + std::to_string(index) + " (" + scenario.text() + ", T " + std::to_string(*request.tokens) + ", He " +
         std::to_string(*request.he) + ", Hcq " + std::to_string(*request.hcq) + ", N " +
         std::to_string(*request.heads) + ", D " + std::to_string(*request.nope_dim) + ", " + request.cache_mode +
         (request.sequence_ends.size() > 1 ? " for " + std::to_string(request.sequence_ends.size()) + " sequences"
                                           : "") +
         ")";
}

std::string Variant::text() const {
  std::string text(to_string(engine));
  if (engine != Backend::reference) text += " " + std::string(to_string(isa));
  text += ", threads " + std::to_string(threads);
  if (block_tokens > 0) text += ", blocks of " + std::to_string(block_tokens);
  if (crews > 0) text += ", crews " + std::to_string(crews);
  return text + ", " + split_name(split);
}

std::vector<Variant> repro_variants(const Problem& problem, Profile profile) {
  std::vector<Variant> variants;
  const auto add = [&](Backend engine, Isa isa, const Tiles& tiles) {
    for (const int threads : kThreads) {
      for (const Split split : kSplits) {
        if (split != Split::none && !can_split(problem)) continue;
        variants.push_back({engine, isa, threads, tiles.block_tokens, tiles.crews, split});
      }
    }
  };
  add(Backend::reference, Isa::scalar, kTiles[0]);
  for (const IsaInfo& info : list_isas()) {
    if (!info.available || info.isa == Isa::scalar) continue;
    const bool onednn = onednn_takes(problem, profile, info.isa);
    for (const Tiles& tiles : kTiles) {
      add(Backend::cpu, info.isa, tiles);
      if (onednn) add(Backend::onednn, info.isa, tiles);
    }
  }
  return variants;
}

std::vector<Variant> sample(const std::vector<Variant>& variants, std::size_t count, std::uint64_t seed) {
  std::vector<Variant> rest(variants.begin() + 1, variants.end());
  Random random(seed);
  for (std::size_t i = rest.size(); i > 1; --i) std::swap(rest[i - 1], rest[random.next() % i]);
  // The first of each engine and instruction set come before the others.
  std::vector<Variant> chosen{variants.front()};
  std::vector<Variant> others;
  for (const Variant& variant : rest) {
    const bool seen = std::ranges::any_of(
        chosen, [&](const Variant& other) { return other.engine == variant.engine && other.isa == variant.isa; });
    (seen ? others : chosen).push_back(variant);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  if (chosen.size() > count) chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(count), chosen.end());
  return chosen;
}

}  // namespace mla_prolog::tools
