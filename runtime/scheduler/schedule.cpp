#include "runtime/scheduler/schedule.hpp"

#include <cstdio>

namespace mla_prolog {

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::pack_x:
      return "pack token_x";
    case Stage::project:
      return "A weight_dq, weight_dkv_kr";
    case Stage::rows:
      return "B rows of c^Q and c^KV";
    case Stage::pack_cq:
      return "pack c^Q";
    case Stage::heads:
      return "C+D heads";
    case Stage::query:
      return "C weight_uq_qr";
    case Stage::split:
      return "rows of q^C and q^R";
    case Stage::absorb:
      return "D weight_uk";
    case Stage::quantise:
      return "quantise q^N";
  }
  return "";
}

Tile Grid::tile(std::int64_t token, std::int64_t tokens_of_it, std::int64_t column, std::int64_t columns_of_it,
                std::int64_t k_index) const {
  const auto range = [](std::int64_t first, std::int64_t count, std::int64_t unit, std::int64_t whole) {
    return std::min(whole, (first + count) * unit) - first * unit;
  };
  return {.token = token * token_unit,
          .tokens = range(token, tokens_of_it, token_unit, tokens),
          .column = column * column_unit,
          .columns = range(column, columns_of_it, column_unit, columns),
          .k = k_index * k_unit,
          .ks = range(k_index, 1, k_unit, k)};
}

void Schedule::add(Stage stage, const Grid& of_one_token) {
  runs[static_cast<std::size_t>(stage)] = true;
  grids[static_cast<std::size_t>(stage)] = of_one_token;
}

Grid Schedule::grid(Stage stage, std::int64_t block_tokens) const {
  Grid grid = grids[static_cast<std::size_t>(stage)];
  grid.tokens *= block_tokens;
  return grid;
}

bool Schedule::last(Stage stage) const {
  for (std::size_t i = static_cast<std::size_t>(stage) + 1; i < kStages; ++i) {
    if (runs[i]) return false;
  }
  return true;
}

std::string Schedule::to_string() const {
  const auto number = [](std::int64_t n) { return static_cast<long long>(n); };
  char line[200];
  std::snprintf(line, sizeof line, "  %d thread%s: %d crew%s of %d, %lld block%s of up to %lld tokens\n", threads,
                threads == 1 ? "" : "s", groups, groups == 1 ? "" : "s", crew, number(blocks), blocks == 1 ? "" : "s",
                number(max_block_tokens()));
  std::string text = line;
  for_each_stage(*this, [&](Stage stage) {
    const Grid whole = grid(stage, max_block_tokens());
    std::snprintf(line, sizeof line, "  %-28s %lld x %lld x %lld units of %lld tokens, %lld columns, %lld k\n",
                  stage_name(stage), number(whole.token_units()), number(whole.column_units()), number(whole.k_units()),
                  number(std::min(whole.token_unit, whole.tokens)), number(whole.column_unit), number(whole.k_unit));
    text += line;
  });
  std::snprintf(line, sizeof line, "  modelled time %.1f us\n", expected_seconds * 1e6);
  return text + line;
}

}  // namespace mla_prolog
