// How a layer is spread over tokens and threads.
//
// A team of `threads` is `groups` crews of `crew` threads. Blocks of tokens go round the crews; a block passes the
// stages below in order. The work of a stage is a grid of units that is divided among the threads of a crew, with a
// barrier between two stages (none when the crew is one thread). `visit_share` says which tiles of the grid a thread
// has: the executor computes them, the simulation adds up what they cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/gemm_kernels.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog {

enum class Stage : std::uint8_t {
  pack_x,    // token_x as left operand, shared by the crew
  project,   // A: token_x . [weight_dq | weight_dkv_kr]
  rows,      // B: rows of c^Q and c^KV
  pack_cq,   // c^Q as left operand, shared by the crew
  heads,     // C and D: head by head, or else
  query,     //   C: columns of c^Q . weight_uq_qr,
  split,     //   rows of q^C and q^R,
  absorb,    //   D: columns of q^C . weight_uk,
  quantise,  //   rows of q^N
};
inline constexpr std::size_t kStages = 9;
const char* stage_name(Stage stage);

// A rectangle of a stage's grid; tokens count from the block's first.
struct Tile {
  std::int64_t token = 0, tokens = 0;
  std::int64_t column = 0, columns = 0;
  std::int64_t k = 0, ks = 0;
};

// The work of a stage: tokens x columns x k, cut into units. What a column is depends on the stage: a column of the
// weights, a head, or (where there is one) nothing; stage B has a row of c^Q and one of c^KV for each token.
struct Grid {
  std::int64_t tokens = 0;
  std::int64_t token_unit = 1;
  std::int64_t columns = 1;
  std::int64_t column_unit = 1;
  std::int64_t k = 1;
  std::int64_t k_unit = 1;

  std::int64_t token_units() const { return (tokens + token_unit - 1) / token_unit; }
  std::int64_t column_units() const { return (columns + column_unit - 1) / column_unit; }
  std::int64_t k_units() const { return (k + k_unit - 1) / k_unit; }
  // Of `units` units each from the given ones on.
  Tile tile(std::int64_t token, std::int64_t tokens_of_it, std::int64_t column, std::int64_t columns_of_it,
            std::int64_t k_index) const;
};

// The tiles of one of `crew` threads: an equal run of the units, k outermost, then columns, then tokens. Neighbouring
// whole columns are one tile, so that weights are decoded once for all the tokens that a thread has of them.
template <typename Visit>
void visit_share(const Grid& grid, int member, int crew, Visit visit) {
  const std::int64_t tokens = grid.token_units();
  const std::int64_t plane = tokens * grid.column_units();
  const std::int64_t all = plane * grid.k_units();
  const std::int64_t end = all * (member + 1) / crew;
  for (std::int64_t unit = all * member / crew; unit < end;) {
    const std::int64_t column = unit % plane / tokens;
    const std::int64_t token = unit % tokens;
    std::int64_t tokens_now = std::min(tokens - token, end - unit);
    std::int64_t columns_now = 1;
    if (tokens_now == tokens) columns_now = std::min((end - unit) / tokens, grid.column_units() - column);
    visit(grid.tile(token, tokens_now, column, columns_now, unit / plane));
    unit += tokens_now * columns_now;
  }
}

struct Schedule {
  int threads = 1;
  int groups = 1;
  int crew = 1;
  std::int64_t tokens = 0;
  std::int64_t blocks = 1;  // of about tokens / blocks tokens
  std::array<bool, kStages> runs{};
  std::array<Grid, kStages> grids{};  // of a block of one token
  double expected_seconds = 0;        // by the cost model

  // Tokens of block b: [first, first + count).
  std::int64_t first_token(std::int64_t b) const { return tokens * b / blocks; }
  std::int64_t max_block_tokens() const { return (tokens + blocks - 1) / blocks; }

  bool has(Stage stage) const { return runs[static_cast<std::size_t>(stage)]; }
  void add(Stage stage, const Grid& of_one_token);
  void remove(Stage stage) { runs[static_cast<std::size_t>(stage)] = false; }
  Grid grid(Stage stage, std::int64_t block_tokens) const;
  bool last(Stage stage) const;  // of those that run
  // Chunks of k that stage A keeps apart, to be added in order by stage B; 1 when it adds them itself.
  std::int64_t planes() const { return grid(Stage::project, 1).k_units(); }
  std::string to_string() const;
};

template <typename Visit>
void for_each_stage(const Schedule& schedule, Visit visit) {
  for (std::size_t i = 0; i < kStages; ++i) {
    if (schedule.runs[i]) visit(static_cast<Stage>(i));
  }
}

}  // namespace mla_prolog
