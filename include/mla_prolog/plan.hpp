// Plan once, run often: a Plan does all checking and sizing; `run` only computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/status.hpp"

namespace mla_prolog {

/// Where the tensors of a call are. `device`: memory of the Ascend device, of this process's CANN runtime.
enum class Memory : std::uint8_t { host, device };

struct PlanOptions {
  Domain domain = Domain::relaxed;
  Soc soc = Soc::automatic;  ///< strict domain only
  Profile profile = Profile::automatic;
  Backend backend = Backend::automatic;
  Isa isa = Isa::automatic;  ///< MLA_PROLOG_ISA in the environment replaces `automatic`
  Numerics numerics = Numerics::strict;
  int threads = 0;               ///< 0: as many as the affinity mask allows; at most 1024
  Memory memory = Memory::host;  ///< of all tensors; for `device`, `automatic` chooses the ascend backend
  /// For experiments, on the cpu and onednn backends; the results do not depend on them. 0: as the cost model says.
  std::int64_t block_tokens = 0;  ///< height of the blocks of tokens, at most
  int crews = 0;                  ///< groups of threads with blocks of their own; where it divides the threads
};

namespace detail {
struct PlanData;
}

class Plan;
MLA_PROLOG_API Result<Plan> make_plan(const Problem& problem, const PlanOptions& options);

/// An immutable, cheaply copyable description of one computation. Safe to use from several threads at once. It comes
/// from make_plan only, and a plan that was moved from is still that plan: there is no empty one.
class MLA_PROLOG_API Plan {
 public:
  // Declared, so that there are no moves and a move copies.
  Plan(const Plan&) noexcept = default;
  Plan& operator=(const Plan&) noexcept = default;
  ~Plan() = default;

  /// Alignment `run` needs of the workspace.
  static constexpr std::size_t kWorkspaceAlignment = 64;

  /// A multiple of kWorkspaceAlignment; 0 when there is nothing to compute.
  std::size_t workspace_bytes() const noexcept;
  /// What CANN would report for the same call.
  std::uint64_t cann_workspace_bytes() const noexcept;
  const Problem& problem() const noexcept;
  Profile profile() const noexcept;  ///< never `automatic`
  Backend backend() const noexcept;  ///< never `automatic`
  Isa isa() const noexcept;          ///< never `automatic`
  int threads() const noexcept;
  /// A readable description, several lines.
  std::string describe() const;

  const detail::PlanData& data() const noexcept { return *data_; }

 private:
  friend Result<Plan> make_plan(const Problem& problem, const PlanOptions& options);
  explicit Plan(std::shared_ptr<const detail::PlanData> data) noexcept : data_(std::move(data)) {}

  std::shared_ptr<const detail::PlanData> data_;
};

/// Checks the problem and the options and sizes everything. May allocate; touches no tensor data. With
/// MLA_PROLOG_VERBOSE=1 in the environment it writes a line about the plan to stderr, else it prints nothing.
///
/// Tensors must be dense with two exceptions: token_x rows may have one uniform row stride (last dimension
/// contiguous), and kv_cache / kr_cache may have any non-overlapping stride of their first dimension (blocks, or
/// sequences for BSND, or tokens for TND); all other dimensions dense.
///
/// Refused are a problem outside the domain, and options that do not exist or that this CPU or build lacks; the error
/// names the parameter or option, its value and the rule.
MLA_PROLOG_API Result<Plan> make_plan(const Problem& problem, const PlanOptions& options = {});

/// Computes. Writes the outputs and the addressed cache slots and nothing else; on any error it has written no
/// output or cache byte.
///
/// Allocates nothing, prints nothing, throws nothing. Uses `plan.threads()` OpenMP threads, or one when called
/// inside a parallel region. Several threads may run one plan at once, each with its own workspace.
///
/// Data pointers must be aligned to the size of their tensor's elements; a null pointer is for empty tensors only.
///
/// The ascend backend computes on a stream of its own and waits for it; it takes memory from the device, and from the
/// heap. Tensors in device memory: what wrote them must have been waited for; their values are the device's to check,
/// so a wrong cache index is a status after the fact, and outputs and caches are then undefined.
///
/// @param workspace at least `plan.workspace_bytes()` bytes, aligned to Plan::kWorkspaceAlignment; null when 0.
MLA_PROLOG_API Status run(const Plan& plan, const Tensors& tensors, void* workspace,
                          std::size_t workspace_bytes) noexcept;

}  // namespace mla_prolog
