// Plan once, run often: a Plan does all checking and sizing; `run` only computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/status.hpp"

namespace mla_prolog {

struct PlanOptions {
  Domain domain = Domain::relaxed;
  Soc soc = Soc::automatic;  ///< strict domain only
  Profile profile = Profile::automatic;
  Backend backend = Backend::automatic;
  Isa isa = Isa::automatic;  ///< MLA_PROLOG_ISA in the environment replaces `automatic`
  Numerics numerics = Numerics::strict;
  int threads = 0;  ///< 0: as many as the affinity mask allows; at most 1024
};

namespace detail {
struct PlanData;
}

/// An immutable, cheaply copyable description of one computation. Safe to use from several threads at once.
class MLA_PROLOG_API Plan {
 public:
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
  explicit Plan(std::shared_ptr<const detail::PlanData> data) noexcept : data_(std::move(data)) {}

 private:
  std::shared_ptr<const detail::PlanData> data_;
};

/// Checks the problem and the options and sizes everything. May allocate; touches no tensor data.
///
/// Tensors must be dense with two exceptions: token_x rows may have one uniform row stride (last dimension
/// contiguous), and kv_cache / kr_cache may have any non-overlapping stride of their first dimension (blocks, or
/// sequences for BSND, or tokens for TND); all other dimensions dense.
MLA_PROLOG_API Result<Plan> make_plan(const Problem& problem, const PlanOptions& options = {});

/// Computes. Writes the outputs and the addressed cache slots and nothing else; on any error it has written no
/// output or cache byte.
///
/// Allocates nothing, prints nothing, throws nothing. Uses `plan.threads()` OpenMP threads, or one when called
/// inside a parallel region. Several threads may run one plan at once, each with its own workspace.
///
/// @param workspace at least `plan.workspace_bytes()` bytes, aligned to Plan::kWorkspaceAlignment; null when 0.
MLA_PROLOG_API Status run(const Plan& plan, const Tensors& tensors, void* workspace,
                          std::size_t workspace_bytes) noexcept;

}  // namespace mla_prolog
