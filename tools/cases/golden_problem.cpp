#include <algorithm>

#include "tools/cases/golden_case.hpp"
#include "tools/io/error.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::tools {
namespace {

TensorDesc weight_desc(const GoldenInput& input, TensorId id, DType dtype, const std::string& file) {
  const std::int64_t width = nz_width(dtype);
  if (input.shape.size() != 2 || width == 0 || input.shape[0] % 16 != 0 || input.shape[1] % width != 0) {
    throw InputError(file, "inputs." + std::string(to_string(id)) + ": " + shape_text(input.shape) + " of " +
                               std::string(to_string(dtype)) + " is no (K, N) matrix that FRACTAL_NZ can hold");
  }
  return TensorDesc::nz(dtype, input.shape[0], input.shape[1]);
}

std::int64_t dim(const TensorDesc& desc, int axis) noexcept {
  return axis < desc.rank ? desc.shape[static_cast<std::size_t>(axis)] : 0;
}

// cache_index stands in the case as a flat list; the tensor has the tokens' shape, or is a block table.
TensorDesc cache_index_desc(const GoldenCase& golden, const Problem& problem, const std::string& file) {
  const auto given = static_cast<std::int64_t>(golden.cache_index->size());
  const std::string& mode = golden.attributes.cache_mode;
  const TensorDesc& x = problem.token_x;
  std::vector<std::int64_t> shape;
  if (has_block_table(mode)) {
    if (x.rank == 3) {
      const std::int64_t block_size = std::max<std::int64_t>(1, dim(problem.kv_cache, 1));
      shape = {dim(x, 0), dim(x, 1) / block_size + (dim(x, 1) % block_size != 0 ? 1 : 0)};
    } else {
      shape = {given};
    }
  } else {
    for (int axis = 0; axis + 1 < x.rank; ++axis) shape.push_back(dim(x, axis));
  }
  const TensorDesc desc = TensorDesc::dense(DType::int64, shape);
  if (desc.numel() != given) {
    throw InputError(file, "cache_index: has " + std::to_string(given) + " entries, shape " + shape_text(shape) +
                               " needs " + std::to_string(desc.numel()));
  }
  return desc;
}

}  // namespace

bool has_block_table(const std::string& cache_mode) { return cache_mode == "PA_BLK_BSND" || cache_mode == "PA_BLK_NZ"; }

Problem golden_problem(const GoldenCase& golden, bool query_norm, const std::string& file) {
  Problem problem;
  problem.attributes = golden.attributes;
  const std::int64_t mode = golden.attributes.weight_quant_mode;
  for (const TensorId id : all_tensors()) {
    const auto& input = golden.input(id);
    if (!input) continue;
    const DType dtype = operator_dtype(input->storage, id, mode);
    problem[id] = is_nz_weight(id) ? weight_desc(*input, id, dtype, file) : TensorDesc::dense(dtype, input->shape);
  }
  const TensorDesc& x = problem.token_x;
  if (x.rank < 2) throw InputError(file, "inputs.token_x: is missing or has too few dimensions");
  if (problem.weight_uk.rank != 3) throw InputError(file, "inputs.weight_uk: is missing or not three-dimensional");
  if (!golden.input(TensorId::weight_dq)) throw InputError(file, "inputs.weight_dq: is missing");

  if (golden.cache_index) problem.cache_index = cache_index_desc(golden, problem, file);
  if (golden.actual_seq_len) {
    problem.actual_seq_len =
        TensorDesc::dense(DType::int32, {static_cast<std::int64_t>(golden.actual_seq_len->size())});
  }
  if (golden.k_nope_clip_alpha) problem.k_nope_clip_alpha = TensorDesc::dense(DType::float32, {1});

  std::vector<std::int64_t> lead(x.shape.begin(), x.shape.begin() + x.rank - 1);
  const std::int64_t heads = problem.weight_uk.shape[0];
  const std::int64_t hcq = golden.input(TensorId::weight_dq)->shape[1];
  std::size_t token_count = 0;
  if (!checked_bytes(lead, 1, token_count)) throw InputError(file, "inputs.token_x: too many tokens");
  const auto tokens = static_cast<std::int64_t>(token_count);
  const auto with_lead = [&lead](std::initializer_list<std::int64_t> rest) {
    std::vector<std::int64_t> shape = lead;
    shape.insert(shape.end(), rest);
    return shape;
  };
  const bool quantised_query = golden.attributes.kv_cache_quant_mode == 1;
  problem.query = TensorDesc::dense(quantised_query ? x.dtype : DType::bf16, with_lead({heads, kHckv}));
  problem.query_rope = TensorDesc::dense(DType::bf16, with_lead({heads, kDr}));
  if (quantised_query) problem.dequant_scale_q_nope = TensorDesc::dense(DType::float32, {tokens, heads, 1});
  if (query_norm) {
    problem.query_norm = TensorDesc::dense(problem.weight_uq_qr.dtype, with_lead({hcq}));
    if (mode == 3) {
      problem.dequant_scale_q_norm = TensorDesc::dense(DType::float8_e8m0, {tokens, hcq / kMxBlock});
    } else if (mode != 0) {
      problem.dequant_scale_q_norm = TensorDesc::dense(DType::float32, {tokens, 1});
    }
  }
  return problem;
}

}  // namespace mla_prolog::tools
