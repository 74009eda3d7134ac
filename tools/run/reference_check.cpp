#include "tools/run/reference_check.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "tools/cases/golden_case.hpp"

namespace mla_prolog::tools {
namespace {

// Tensors with one row per token, inputs and outputs.
constexpr std::array kPerToken{
    TensorId::token_x,
    TensorId::rope_sin,
    TensorId::rope_cos,
    TensorId::dequant_scale_x,
    TensorId::query,
    TensorId::query_rope,
    TensorId::dequant_scale_q_nope,
    TensorId::query_norm,
    TensorId::dequant_scale_q_norm,
};

bool is_per_token(TensorId id) { return std::ranges::find(kPerToken, id) != kPerToken.end(); }

// Entries of `index` that a later token or block uses again are made negative, which skips the row: what the cache
// holds there is another token's.
void skip_reused(std::vector<std::int64_t>& index, std::size_t first_outside, const std::vector<std::int64_t>& all) {
  std::vector<std::int64_t> later(all.begin() + static_cast<std::ptrdiff_t>(first_outside), all.end());
  std::ranges::sort(later);
  for (std::int64_t& entry : index) {
    if (std::ranges::binary_search(later, entry)) entry = -1;
  }
}

// The first `tokens` tokens as a problem of its own with 2-D tokens. Rows do not depend on one another, so the results
// must be the same as in the whole.
class Subset {
 public:
  Subset(const Operands& whole, std::int64_t tokens) : whole_(whole), tokens_(tokens) {
    const Problem& problem = whole.problem;
    part_.problem = problem;
    lead_rank_ = problem.token_x.rank - 1;
    for (const TensorId id : kPerToken) cut_rows(id);
    if (problem.cache_index.present()) cut_index();
    if (problem.attributes.cache_mode == "BSND") part_.problem.attributes.cache_mode = "TND";
    if (problem.attributes.cache_mode == "BSND" || problem.attributes.cache_mode == "TND") {
      cut_cache(TensorId::kv_cache);
      if (!problem.kr_cache.has_zero_elements()) cut_cache(TensorId::kr_cache);
    } else {
      for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) part_[id] = Buffer::copy_of(whole[id].bytes());
    }
    part_.allocate_outputs();
  }

  const Problem& problem() const { return part_.problem; }
  const Operands& part() const { return part_; }

  // Weights and other shared inputs are read where they are.
  Tensors pointers() {
    Tensors tensors = part_.pointers();
    for (const TensorId id : all_tensors()) {
      if (part_[id].size() != 0 || is_per_token(id) || is_output(id) || is_cache(id)) continue;
      tensors.set(id, const_cast<void*>(whole_[id].data()));
    }
    return tensors;
  }

 private:
  std::int64_t seq() const { return whole_.problem.token_x.rank == 3 ? whole_.problem.token_x.shape[1] : 0; }

  // Outputs of two dimensions (scales) are flat already; the others have the tokens' leading dimensions.
  void cut_rows(TensorId id) {
    const TensorDesc& desc = whole_.problem[id];
    if (!desc.present()) return;
    const bool flat =
        id == TensorId::dequant_scale_x || id == TensorId::dequant_scale_q_nope || id == TensorId::dequant_scale_q_norm;
    std::vector<std::int64_t> shape{tokens_};
    for (int axis = flat ? 1 : lead_rank_; axis < desc.rank; ++axis) {
      shape.push_back(desc.shape[static_cast<std::size_t>(axis)]);
    }
    part_.problem[id] = TensorDesc::dense(desc.dtype, shape);
    if (!is_output(id)) part_[id] = Buffer::copy_of(whole_[id].bytes().first(part_.problem[id].extent_bytes()));
  }

  // One row per token.
  void cut_cache(TensorId id) {
    const TensorDesc& desc = whole_.problem[id];
    const std::int64_t width = desc.shape[static_cast<std::size_t>(desc.rank - 1)];
    part_.problem[id] = TensorDesc::dense(desc.dtype, {tokens_, 1, width});
    part_[id] = Buffer::copy_of(whole_[id].bytes().first(part_.problem[id].extent_bytes()));
  }

  void cut_index() {
    const std::span<const std::int64_t> given = whole_[TensorId::cache_index].as<std::int64_t>();
    const std::vector<std::int64_t> all(given.begin(), given.end());
    std::size_t used = static_cast<std::size_t>(tokens_);
    if (has_block_table(whole_.problem.attributes.cache_mode)) {
      const std::vector<std::int32_t> sums = prefix_sums();
      used = table_entries(sums);
      part_.problem.actual_seq_len = TensorDesc::dense(DType::int32, {static_cast<std::int64_t>(sums.size())});
      part_[TensorId::actual_seq_len] = Buffer::copy_of(std::as_bytes(std::span(sums)));
    }
    used = std::min(used, all.size());
    std::vector<std::int64_t> index(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(used));
    skip_reused(index, used, all);
    part_.problem.cache_index = TensorDesc::dense(DType::int64, {static_cast<std::int64_t>(index.size())});
    part_[TensorId::cache_index] = Buffer::copy_of(std::as_bytes(std::span(index)));
  }

  // The sequences of the subset's tokens, the last one cut.
  std::vector<std::int32_t> prefix_sums() const {
    std::vector<std::int32_t> sums;
    if (seq() > 0) {
      for (std::int64_t end = seq(); end < tokens_ + seq(); end += seq()) {
        sums.push_back(static_cast<std::int32_t>(std::min(end, tokens_)));
      }
      return sums;
    }
    for (const std::int32_t end : whole_[TensorId::actual_seq_len].as<std::int32_t>()) {
      sums.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(end, tokens_)));
    }
    return sums;
  }

  std::size_t table_entries(const std::vector<std::int32_t>& sums) const {
    const std::int64_t block_size = whole_.problem.kv_cache.shape[1];
    std::int64_t entries = 0;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      // Tokens beyond the last prefix sum continue the last sequence.
      const std::int64_t end = i + 1 == sums.size() ? tokens_ : sums[i];
      entries += (end - begin + block_size - 1) / block_size;
      begin = sums[i];
    }
    return static_cast<std::size_t>(entries);
  }

  const Operands& whole_;
  std::int64_t tokens_;
  int lead_rank_ = 1;
  Operands part_;
};

}  // namespace

bool ReferenceResult::agrees() const noexcept {
  return !difference || (!distances.empty() && std::ranges::all_of(distances, &Agreement::within_fast_bounds));
}

ReferenceResult compare_with_reference(const Operands& results, const Plan& plan, std::int64_t tokens,
                                       Numerics numerics) {
  Subset subset(results, tokens);
  PlanOptions options;
  options.profile = plan.profile();
  options.backend = Backend::reference;
  options.isa = Isa::scalar;
  options.threads = plan.threads();
  const Result<Plan> reference = make_plan(subset.problem(), options);
  if (!reference.ok()) throw std::runtime_error("reference: " + reference.error().message);
  Buffer workspace(reference->workspace_bytes());
  const Status status = run(*reference, subset.pointers(), workspace.data(), workspace.size());
  if (!status.ok()) throw std::runtime_error("reference: " + message(status));

  ReferenceResult result{tokens, {}, std::nullopt, {}};
  for (const TensorId id : all_tensors()) {
    if ((!is_output(id) && !is_cache(id)) || !subset.problem()[id].present()) continue;
    const std::span<const std::byte> expected = subset.part()[id].bytes();
    result.difference = compare(subset.problem()[id].dtype, expected, results[id].bytes().first(expected.size()));
    if (result.difference) {
      result.tensor = to_string(id);
      break;
    }
  }
  if (numerics == Numerics::fast) result.distances = agreement_of(subset.part(), results);
  return result;
}

}  // namespace mla_prolog::tools
