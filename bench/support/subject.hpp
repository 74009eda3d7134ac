// The operator as it is measured: a plan, its operands, its workspace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/support/data.hpp"
#include "mla_prolog/plan.hpp"
#include "mla_prolog/prepare.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::bench {

class Subject {
 public:
  // Throws std::runtime_error with the plan's words when there is no such plan. `weights` outlives it.
  Subject(const Problem& problem, const PlanOptions& options, ColdWeights& weights);

  const Plan& plan() const { return plan_; }
  const Layer& layer() const;
  const Tensors& tensors() const { return tensors_; }

  // Plans anew, so that the next call is the first after planning.
  void plan_again();
  // Turns the weights and calls; seconds. Throws std::runtime_error when `run` refuses.
  double run();

 private:
  Problem problem_;
  PlanOptions options_;
  ColdWeights& weights_;
  Plan plan_;
  TokenData data_;
  Tensors tensors_;
  Memory workspace_;
  std::vector<PreparedWeights> prepared_;  // of each copy, for engines that need it
};

// The instruction sets that this machine runs and that have matmul kernels, weakest first.
std::vector<Isa> runnable_isas();
// The backends that compute with them here: native kernels, and whatever else is built in. Not the scalar reference,
// nor a device.
std::vector<Backend> runnable_engines();
// "native" for the cpu backend; a cell has one by name, never "auto".
std::string engine_name(Backend backend);
std::optional<Backend> parse_engine(std::string_view name);

}  // namespace mla_prolog::bench
