#include "tools/run/repro.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "tools/io/digest.hpp"
#include "tools/run/save.hpp"

namespace mla_prolog::tools {
namespace {

// Tensors with a row for each of 2-D tokens.
constexpr std::array kPerToken{
    TensorId::token_x,         TensorId::rope_sin,
    TensorId::rope_cos,        TensorId::cache_index,
    TensorId::dequant_scale_x, TensorId::query,
    TensorId::query_rope,      TensorId::dequant_scale_q_nope,
    TensorId::query_norm,      TensorId::dequant_scale_q_norm,
};

bool has_token_rows(const Problem& problem, TensorId id) {
  if (is_cache(id)) return problem.attributes.cache_mode == "TND" && problem[id].numel() > 0;
  return std::ranges::find(kPerToken, id) != kPerToken.end() && problem[id].present();
}

// Tokens [first, first + count) of a call, in place.
struct Part {
  Problem problem;
  Tensors tensors;

  Part(Operands& whole, std::int64_t first, std::int64_t count) : problem(whole.problem), tensors(whole.pointers()) {
    const std::int64_t tokens = whole.problem.token_x.shape[0];
    if (count == tokens) return;
    for (const TensorId id : all_tensors()) {
      if (!has_token_rows(problem, id)) continue;
      TensorDesc& desc = problem[id];
      const std::size_t row = desc.extent_bytes() / static_cast<std::size_t>(tokens);
      desc.shape[0] = count;
      tensors.set(id, static_cast<std::byte*>(whole[id].data()) + row * static_cast<std::size_t>(first));
    }
  }
};

std::vector<std::int64_t> boundaries(Split split, std::int64_t tokens) {
  switch (split) {
    case Split::none:
      return {0, tokens};
    case Split::first_token_apart:
      return {0, 1, tokens};
    case Split::halves:
      return {0, tokens / 2, tokens};
    case Split::single_tokens:
      break;
  }
  std::vector<std::int64_t> all;
  for (std::int64_t t = 0; t <= tokens; ++t) all.push_back(t);
  return all;
}

void run_part(Part& part, Profile profile, const Variant& variant) {
  const Result<Plan> plan = make_plan(part.problem, {.profile = profile,
                                                     .backend = variant.engine,
                                                     .isa = variant.isa,
                                                     .threads = variant.threads,
                                                     .block_tokens = variant.block_tokens,
                                                     .crews = variant.crews});
  if (!plan.ok()) throw std::runtime_error(variant.text() + ": " + plan.error().message);
  const Result<PreparedWeights> weights = prepare_weights(*plan, part.tensors);
  if (!weights.ok()) throw std::runtime_error(variant.text() + ": " + weights.error().message);
  Buffer workspace(plan->workspace_bytes());
  std::memset(workspace.data(), 0xFF, workspace.size());  // NaN: nothing may depend on it
  const Status status = run(*plan, *weights, part.tensors, workspace.data(), workspace.size());
  if (!status.ok()) throw std::runtime_error(variant.text() + ": " + message(status));
}

}  // namespace

std::string first_difference(const Digests& a, const Digests& b) {
  if (a.size() != b.size()) return "number of tensors";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return a[i].first;
  }
  return {};
}

std::uint64_t combined(const Digests& digests) {
  std::vector<std::uint64_t> values;
  for (const auto& [name, value] : digests) values.push_back(value);
  return digest(std::as_bytes(std::span(values)));
}

Digests compute(const Operands& operands, Profile profile, const Variant& variant) {
  Operands own;
  own.problem = operands.problem;
  for (const TensorId id : all_tensors()) own[id] = Buffer::copy_of(operands[id].bytes());
  own.allocate_outputs();
  const std::vector<std::int64_t> cuts = boundaries(variant.split, own.problem.token_x.shape[0]);
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i] == cuts[i - 1]) continue;
    Part part(own, cuts[i - 1], cuts[i] - cuts[i - 1]);
    run_part(part, profile, variant);
  }
  Digests digests;
  for (const TensorId id : all_tensors()) {
    if (is_result(own.problem, id)) digests.emplace_back(to_string(id), digest(own[id].bytes()));
  }
  return digests;
}

}  // namespace mla_prolog::tools
