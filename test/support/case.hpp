// A call of the operator made real: guarded tensors filled with data, ready to run, to compare, and to take apart into
// single tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "test/support/case_spec.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/oracle_cache.hpp"

namespace mla_prolog::test {

/// Bytes of tensors by id; empty where a tensor is absent or was not taken.
using TensorBytes = std::array<std::vector<std::byte>, kTensorCount>;

/// The first difference, "query byte 12 of 4096: 0x80, expected 0x00 (7 bytes differ)"; empty when equal.
std::string difference(const TensorBytes& actual, const TensorBytes& expected);

/// Copies share their memory.
class Case {
 public:
  /// Allocates all tensors and fills the inputs and caches; outputs hold a pattern.
  explicit Case(const CaseSpec& spec);

  const CaseSpec& spec() const { return spec_; }
  const ProblemConfig& config() const { return spec_.config; }
  const Problem& problem() const { return problem_; }
  std::int64_t tokens() const { return spec_.tokens(); }

  std::byte* data(TensorId id) const { return data_[static_cast<std::size_t>(id)]; }
  /// All of the memory behind a tensor, gaps included. Of interleaved caches kv_cache has it all and kr_cache nothing.
  std::span<std::byte> memory(TensorId id) const { return memory_[static_cast<std::size_t>(id)].bytes(); }
  Tensors tensors() const;
  bool intact() const;

  void fill_outputs(std::byte value) const;
  TensorBytes outputs_and_caches() const;
  void restore_caches(const TensorBytes& from) const;
  TensorBytes inputs() const;
  /// Makes writing to an input fault, or possible again.
  void set_inputs_read_only(bool read_only) const;

  /// Row t of a tensor that has one for each token.
  std::span<std::byte> token_row(TensorId id, std::int64_t t) const;
  static bool has_token_rows(TensorId id);

  Addressing addressing() const;
  bool has_cache(TensorId id) const { return problem_[id].numel() > 0; }
  CacheLayout cache_layout(TensorId id) const;

  /// A case of one token with a TND cache of its own, and the weights of this one.
  Case single() const;
  /// The given tokens, 2-D, into the same caches: PA_BSND or PA_NZ with the slots that this case's tokens have.
  Case part(std::span<const std::int64_t> tokens) const;
  /// The same inputs, with outputs and caches of its own; the caches hold what they hold here.
  Case twin() const;
  /// Copies the inputs of token `from` of `source` to token `to`.
  void copy_token(std::int64_t to, const Case& source, std::int64_t from) const;

 private:
  void describe_problem();
  void allocate(TensorId id);
  void allocate_caches();
  // Allocates what belongs to the tokens and, unless shared already, everything else.
  void allocate_all();

  CaseSpec spec_;
  Problem problem_;
  std::array<GuardedMemory, kTensorCount> memory_;
  std::array<std::byte*, kTensorCount> data_{};
};

/// Fills inputs and caches as the spec says.
void fill_case(const Case& c);

/// A plan, or a failed test.
Plan make_test_plan(const Case& c, PlanOptions options);
/// Runs with a workspace of exactly the plan's size, filled with garbage. Uses no assertions, so any thread may call
/// it.
Status run_quietly(const Plan& plan, const Case& c);
/// Runs and checks what must hold of every run: success, inputs never written, guards untouched.
void run_checked(const Plan& plan, const Case& c);

}  // namespace mla_prolog::test
