#include "tools/run/save.hpp"

#include <vector>

#include "tools/io/storage.hpp"
#include "tools/run/inputs.hpp"

namespace mla_prolog::tools {
namespace {

template <typename Wanted>
void save(const std::string& path, const Operands& operands, Wanted wanted) {
  std::vector<Buffer> logical;
  std::vector<TensorToStore> tensors;
  for (const TensorId id : all_tensors()) {
    const TensorDesc& desc = operands.problem[id];
    if (!desc.present() || !wanted(id)) continue;
    std::vector<std::int64_t> shape(desc.shape.begin(), desc.shape.begin() + desc.rank);
    std::span<const std::byte> bytes = operands[id].bytes();
    if (is_nz_weight(id)) {
      shape = logical_shape(desc);
      logical.emplace_back(bytes.size());
      nz_to_nd(element_size(desc.dtype), shape[0], shape[1], operands[id].data(), logical.back().data());
      bytes = logical.back().bytes();
    }
    tensors.push_back({std::string(to_string(id)), storage_type(desc.dtype), std::move(shape), bytes});
  }
  write_safetensors(path, tensors);
}

}  // namespace

bool is_result(const Problem& problem, TensorId id) noexcept {
  if (!problem[id].present()) return false;
  const bool unused = id == TensorId::kr_cache && problem.attributes.ckvkr_repo_mode == 1;
  return is_output(id) || (is_cache(id) && !unused);
}

void save_inputs(const std::string& path, const Operands& operands) {
  save(path, operands, [](TensorId id) { return !is_output(id); });
}

void save_outputs(const std::string& path, const Operands& operands) {
  save(path, operands, [&](TensorId id) { return is_result(operands.problem, id); });
}

}  // namespace mla_prolog::tools
