#include "bench/support/subject.hpp"

#include <cstring>
#include <stdexcept>

#include "bench/support/clock.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "mla_prolog/system.hpp"
#include "runtime/plan/plan_data.hpp"

namespace mla_prolog::bench {
namespace {

Plan planned(const Problem& problem, const PlanOptions& options) {
  Result<Plan> plan = make_plan(problem, options);
  if (!plan.ok()) throw std::runtime_error(plan.error().message);
  return *plan;
}

}  // namespace

Subject::Subject(const Problem& problem, const PlanOptions& options, ColdWeights& weights)
    : problem_(problem),
      options_(options),
      weights_(weights),
      plan_(planned(problem, options)),
      data_(problem),
      tensors_(data_.tensors()),
      workspace_(plan_.workspace_bytes()) {
  // The memory is the caller's, and its pages' first touch not part of a call.
  std::memset(workspace_.data(), 0, workspace_.size());
  for (std::size_t copy = 0; copy < weights_.copies(); ++copy) {
    weights_.set(tensors_, copy);
    Result<PreparedWeights> prepared = prepare_weights(plan_, tensors_);
    if (!prepared.ok()) throw std::runtime_error(prepared.error().message);
    prepared_.push_back(*prepared);
  }
  weights_.set(tensors_);
}

const Layer& Subject::layer() const { return plan_.data().layer; }

void Subject::plan_again() { plan_ = planned(problem_, options_); }

double Subject::run() {
  weights_.turn();
  weights_.set(tensors_);
  const double start = now();
  const Status status =
      mla_prolog::run(plan_, prepared_[weights_.at()], tensors_, workspace_.data(), workspace_.size());
  const double seconds = now() - start;
  if (!status.ok()) throw std::runtime_error(message(status));
  return seconds;
}

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (const kernels::KernelSet& set : kernels::kernel_sets()) {
    if (set.gemm != nullptr && kernels::unavailable_reason(set, kernels::cpu_features()).empty())
      isas.push_back(set.isa);
  }
  return isas;
}

std::vector<Backend> runnable_engines() {
  std::vector<Backend> engines;
  for (const BackendInfo& info : list_backends()) {
    if (info.available && info.backend != Backend::reference && info.backend != Backend::ascend) {
      engines.push_back(info.backend);
    }
  }
  return engines;
}

std::string engine_name(Backend backend) {
  return backend == Backend::cpu ? "native" : std::string(to_string(backend));
}

std::optional<Backend> parse_engine(std::string_view name) {
  if (name == "native") return Backend::cpu;
  const auto backend = parse<Backend>(name);
  return backend == Backend::automatic ? std::nullopt : backend;
}

}  // namespace mla_prolog::bench
