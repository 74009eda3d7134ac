// One case computed in many ways that must not matter, and what each way gave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "tools/run/operands.hpp"
#include "tools/run/request.hpp"

namespace mla_prolog::tools {

/// A small call: scenario, sizes and cache drawn from seed and index.
struct ReproCase {
  std::uint64_t seed = 0;
  std::int64_t index = 0;
  ScenarioName scenario;
  RunRequest request;

  std::string text() const;
};
ReproCase repro_case(std::uint64_t seed, std::int64_t index, std::optional<std::int64_t> tokens);

/// How the tokens are cut into calls, between pieces (`pieces`).
enum class Split : std::uint8_t { none, first_apart, halves, all_apart };

/// One way to compute a case.
struct Variant {
  Backend engine = Backend::reference;  ///< reference, cpu or onednn
  Isa isa = Isa::scalar;
  int threads = 1;
  std::int64_t block_tokens = 0;
  int crews = 0;
  Split split = Split::none;

  std::string text() const;
};

/// All ways that this build and CPU have for a problem. The first is the scalar reference on one thread.
std::vector<Variant> repro_variants(const Problem& problem, Profile profile);

/// `count` of them, seeded; always with the first, and all engines and instruction sets as far as `count` goes.
std::vector<Variant> sample(const std::vector<Variant>& variants, std::size_t count, std::uint64_t seed);

/// Where the tokens of a call may be cut: the first token of each piece, and the end. A piece is one token; with block
/// tables, whose positions count from the call's own beginning of a sequence, it is a sequence's share of a block. Only
/// a call that begins with a sequence or a block can then be given a table that leads to the same addresses.
std::vector<std::int64_t> pieces(const Operands& operands);

/// Digests of all outputs and caches by name.
using Digests = std::vector<std::pair<std::string, std::uint64_t>>;
/// The first tensor whose digests differ; empty when all are equal.
std::string first_difference(const Digests& a, const Digests& b);
std::uint64_t combined(const Digests& digests);

/// Computes a case by a variant, `operands` as they are before every call. Throws std::runtime_error when a plan or a
/// call that must work is refused.
Digests compute(const Operands& operands, Profile profile, const Variant& variant);

}  // namespace mla_prolog::tools
