// What a plan holds of its backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mla_prolog/tensor.hpp"
#include "runtime/backend/onednn/stages.hpp"
#include "runtime/scheduler/recorder.hpp"
#include "runtime/scheduler/simulation.hpp"

namespace mla_prolog {

class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual std::size_t workspace_bytes() const noexcept = 0;
  // Computes. All checks have passed; slot[t] is the cache slot of token t or -1 (null when no cache is written).
  // Allocates nothing; `workspace` is 64-byte aligned. `prepared` is null or fits engines().
  virtual void execute(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace,
                       const onednn::PreparedMatrices* prepared = nullptr) const noexcept = 0;
  // Lines for Plan::describe.
  virtual std::string describe() const = 0;

  // The matmuls that oneDNN does where weights are prepared for it; null: none.
  virtual const onednn::Stages* engines() const noexcept { return nullptr; }
  // What does each matmul and why, in one line.
  virtual std::string engine_summary() const { return "scalar, token by token"; }

  // What `explain` tells. Backends that follow no schedule have none, and record nothing.
  virtual const Schedule* schedule() const noexcept { return nullptr; }
  virtual Simulation simulation() const { return {}; }
  virtual void execute_recorded(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace,
                                const onednn::PreparedMatrices* prepared, Recorder& /*recorder*/) const noexcept {
    execute(tensors, slot, workspace, prepared);
  }
  // What multiplies in a stage, where its weights are prepared; empty for stages without a matmul.
  virtual std::string engine_of(Stage /*stage*/) const { return {}; }

 protected:
  Executor() = default;
};

}  // namespace mla_prolog
