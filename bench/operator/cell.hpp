// One cell of the table: a scenario at a number of tokens with one instruction set, engine and number of threads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/support/roofs.hpp"
#include "bench/support/subject.hpp"

namespace mla_prolog::bench {

struct Effort {
  int rounds = 15;
  double seconds = 0.8;
};

struct Cell {
  std::string scenario;
  std::int64_t tokens = 0;
  Isa isa = Isa::automatic;
  Backend engine = Backend::automatic;
  int threads = 0;
  int rounds = 0;
  bool bf16_pairs = false;  // so many tokens are multiplied by the CPU's bf16 dot products
  Work work;
  // Medians.
  double seconds = 0;
  double roof_seconds = 0;
  double share = 0;
  double first_over_median = 0;  // the first call after planning, workspace and outputs touched before
  double row_share = 0;          // row steps alone / whole call
  double fastest_seconds = 0;
  Roofs roofs = {};
};

Cell measure_cell(Subject& subject, ColdWeights& weights, const std::string& scenario, const Effort& effort);

nlohmann::ordered_json to_json(const Cell& cell);
std::string table_head();
std::string table_line(const Cell& cell);

}  // namespace mla_prolog::bench
