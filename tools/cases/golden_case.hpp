// A golden case: the operator's attributes and, for each input, how it is made and what its checksum is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mla_prolog/problem.hpp"
#include "tools/cases/generator.hpp"
#include "tools/io/safetensors.hpp"

namespace mla_prolog::tools {

struct GoldenInput {
  StorageType storage = StorageType::u8;
  std::vector<std::int64_t> shape;
  std::optional<Generator> generator;  ///< absent for empty tensors
  std::uint64_t checksum = 0;
  std::size_t bytes = 0;
};

struct GoldenCase {
  std::string name;
  Profile profile = Profile::automatic;
  Attributes attributes;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> zero_rows;  ///< flat token numbers
  std::optional<std::vector<std::int64_t>> cache_index;
  std::optional<std::vector<std::int64_t>> actual_seq_len;
  std::optional<double> k_nope_clip_alpha;
  std::array<std::optional<GoldenInput>, kTensorCount> inputs;

  const std::optional<GoldenInput>& input(TensorId id) const { return inputs[static_cast<std::size_t>(id)]; }
};

/// Whether cache_index holds block tables in this cache mode (PA_BLK_*).
bool has_block_table(const std::string& cache_mode);

/// Reads the JSON of a case. Throws InputError, with `file` as the name.
GoldenCase parse_golden_case(std::string_view text, const std::string& file);

/// What the operator is asked to compute in a case. Caches and query outputs are always described, the normalised query
/// on request. Throws InputError where the case's shapes make no problem; `make_plan` judges the rest.
Problem golden_problem(const GoldenCase& golden, bool query_norm, const std::string& file);

}  // namespace mla_prolog::tools
