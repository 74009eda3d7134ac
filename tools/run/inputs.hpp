// All input tensors of a run: generated, from a checkpoint, from an input file, quantised for each scenario.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/model/layer_weights.hpp"
#include "tools/run/operands.hpp"
#include "tools/run/request.hpp"

namespace mla_prolog::tools {

class RunInputs {
 public:
  /// Both must outlive the object.
  RunInputs(const RunRequest& request, const RunSetting& setting);

  /// What the operator is asked in a scenario. Throws UsageError when the input file holds a tensor that the scenario
  /// does not take and there is no other scenario to take it.
  Problem problem(const ScenarioName& scenario) const;

  /// What of the input file is likely a mistake though it can be computed, a line each.
  std::vector<std::string> warnings() const;

  /// Makes all input tensors. Outputs are allocated, caches hold their initial content.
  /// @param before  operands of another scenario, or null: what both share is taken from there, not made again
  Operands make(const ScenarioName& scenario, const Problem& problem, Profile profile, Operands* before);

 private:
  void load_floats();
  void make_weight(const ScenarioName& scenario, Operands& operands, TensorId id, TensorId scale_id);
  void make_tokens(const ScenarioName& scenario, Operands& operands, Profile profile);
  void make_rope_tables(Operands& operands);
  void make_float(Operands& operands, TensorId id);
  void make_indices(Operands& operands);
  void make_caches(Operands& operands);
  void make_cache_scales(Operands& operands, Profile profile);
  void make_smooth_scales(Operands& operands);

  const StoredTensor* given(TensorId id) const;
  /// A tensor of the input file in the operator's own type, or nothing.
  std::optional<Buffer> given_as_is(const Operands& operands, TensorId id) const;
  /// Throws unless the tensor's shape is the operator's, logical (K, N) for weights.
  void check_shape(const StoredTensor& tensor, const TensorDesc& desc, TensorId id) const;

  const RunRequest& request_;
  const RunSetting& setting_;
  bool loaded_ = false;
  LayerWeights weights_;
  FloatTensor tokens_;
};

/// The logical (K, N) of an NZ description.
std::vector<std::int64_t> logical_shape(const TensorDesc& nz);

}  // namespace mla_prolog::tools
