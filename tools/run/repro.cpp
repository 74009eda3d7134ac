#include "tools/run/repro.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "tools/cases/golden_case.hpp"
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

bool by_block(const Problem& problem) { return has_block_table(problem.attributes.cache_mode); }

bool has_token_rows(const Problem& problem, TensorId id) {
  if (id == TensorId::cache_index && by_block(problem)) return false;
  if (is_cache(id)) return problem.attributes.cache_mode == "TND" && problem[id].numel() > 0;
  return std::ranges::find(kPerToken, id) != kPerToken.end() && problem[id].present();
}

std::span<const std::int32_t> sequence_ends(const Operands& operands) {
  return operands[TensorId::actual_seq_len].as<std::int32_t>();
}

std::int64_t block_size(const Problem& problem) { return problem.kv_cache.shape[1]; }

// Tokens [first, first + count) of a call, in place.
struct Part {
  Problem problem;
  Tensors tensors;
  std::vector<std::int32_t> ends;  // prefix sums of these tokens; block tables only

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
    if (by_block(problem)) cut_block_table(whole, first, count);
  }
  // `tensors` points into `ends`.
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  // The entries of the table that these tokens use, from the one where the first of them begins a block.
  void cut_block_table(Operands& whole, std::int64_t first, std::int64_t count) {
    const std::int64_t size = block_size(problem);
    const auto blocks = [size](std::int64_t tokens) { return (tokens + size - 1) / size; };
    std::int64_t before = 0;
    std::int64_t used = 0;
    std::int64_t begin = 0;
    for (const std::int64_t end : sequence_ends(whole)) {
      const std::int64_t from = std::clamp(first, begin, end);
      const std::int64_t to = std::clamp(first + count, begin, end);
      before += blocks(from - begin);
      used += blocks(to - from);
      ends.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(end - first, 0, count)));
      begin = end;
    }
    problem.cache_index.shape[0] = used;
    tensors.set(TensorId::cache_index, whole[TensorId::cache_index].as<std::int64_t>().data() + before);
    tensors.set(TensorId::actual_seq_len, ends.data());
  }
};

std::vector<std::int64_t> boundaries(Split split, const std::vector<std::int64_t>& at) {
  const std::size_t last = at.size() - 1;
  switch (split) {
    case Split::none:
      return {0, at[last]};
    case Split::first_apart:
      return {0, at[std::min<std::size_t>(1, last)], at[last]};
    case Split::halves:
      return {0, at[last / 2], at[last]};
    case Split::all_apart:
      break;
  }
  return at;
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

std::vector<std::int64_t> pieces(const Operands& operands) {
  const std::int64_t tokens = operands.problem.token_x.shape[0];
  std::vector<std::int64_t> at;
  if (by_block(operands.problem)) {
    const std::int64_t size = block_size(operands.problem);
    std::int64_t begin = 0;
    for (const std::int64_t end : sequence_ends(operands)) {
      for (; begin < end; begin = std::min(begin + size, end)) at.push_back(begin);
    }
  } else {
    for (std::int64_t t = 0; t < tokens; ++t) at.push_back(t);
  }
  at.push_back(tokens);
  return at;
}

Digests compute(const Operands& operands, Profile profile, const Variant& variant) {
  Operands own;
  own.problem = operands.problem;
  for (const TensorId id : all_tensors()) own[id] = Buffer::copy_of(operands[id].bytes());
  own.allocate_outputs();
  const std::vector<std::int64_t> cuts = boundaries(variant.split, pieces(own));
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
