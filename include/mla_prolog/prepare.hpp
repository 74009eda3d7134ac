// Weights laid out for oneDNN, once, in memory of their own.
//
// Plans of the native kernels read FRACTAL_NZ in place and need none of this. oneDNN wants blocks of its own: a plan
// with matmuls for it says so in Plan::describe, and has them done where `run` is given weights prepared for it.
// Without them the native kernels compute, unless oneDNN was asked for by name (Backend::onednn): then `run` refuses.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "mla_prolog/export.hpp"
#include "mla_prolog/plan.hpp"
#include "mla_prolog/status.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog {

namespace onednn {
struct PreparedMatrices;
}

/// Immutable and cheaply copyable; copies share the memory, which lives as long as the last of them. Safe to use from
/// several threads at once.
class MLA_PROLOG_API PreparedWeights {
 public:
  /// No weights, as plans without oneDNN need.
  PreparedWeights() = default;
  std::size_t bytes() const noexcept;

  const onednn::PreparedMatrices* data() const noexcept { return data_.get(); }
  explicit PreparedWeights(std::shared_ptr<const onednn::PreparedMatrices> data) noexcept : data_(std::move(data)) {}

 private:
  std::shared_ptr<const onednn::PreparedMatrices> data_;
};

/// Copies the weights that the plan's oneDNN matmuls read; reads nothing but the four weights of `tensors`. Uses
/// plan.threads() threads and allocates. Empty for a plan without oneDNN.
///
/// The result serves every plan for the same weights whose matmuls want the same form, of other numbers of tokens too.
MLA_PROLOG_API Result<PreparedWeights> prepare_weights(const Plan& plan, const Tensors& tensors);

/// `run` with prepared weights. All of `tensors` is needed as there: what oneDNN does not do reads them. Refuses
/// weights of another form; that they were prepared from the same weights is the caller's word.
///
/// Nothing of this library allocates; oneDNN itself makes its small argument lists on the heap. Where it fails to, the
/// native kernels do that piece.
MLA_PROLOG_API Status run(const Plan& plan, const PreparedWeights& weights, const Tensors& tensors, void* workspace,
                          std::size_t workspace_bytes) noexcept;

}  // namespace mla_prolog
