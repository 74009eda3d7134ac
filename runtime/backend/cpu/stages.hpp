// The stages of a schedule, one tile at a time.
#pragma once

#include <cstdint>

#include "runtime/backend/cpu/rows.hpp"
#include "runtime/backend/cpu/spaces.hpp"
#include "runtime/scheduler/schedule.hpp"

namespace mla_prolog::cpu {

// A block of tokens [first, first + count) in the hands of one thread.
struct Block {
  const Run& run;
  const Schedule& schedule;
  const Matmuls& matmuls;
  std::int64_t first;
  std::int64_t count;
  const CrewSpace& shared;
  const ThreadSpace& own;
};

void pack_x(const Block& block, const Tile& tile);
void project(const Block& block, const Tile& tile);
void finish_rows(const Block& block, const Tile& tile);
void pack_cq(const Block& block, const Tile& tile);
// C and D of whole heads.
void query_heads(const Block& block, const Tile& tile);
// C and D of heads that several threads share.
void query_columns(const Block& block, const Tile& tile);
void split_heads(const Block& block, const Tile& tile);
void absorb_columns(const Block& block, const Tile& tile);
void quantise_queries(const Block& block, const Tile& tile);

// The weights and left operands of several of them.
Matrix uq_matrix(const Run& run);
Matrix uk_matrix(const Run& run, std::int64_t head);
// c^Q of a tile's tokens: the crew's, or packed now. `token`: the first of them in it.
PackedLeft packed_cq(const Block& block, const Tile& tile, std::int64_t& token);

}  // namespace mla_prolog::cpu
