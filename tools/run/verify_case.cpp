#include "tools/run/verify_case.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tools/cases/golden_case.hpp"
#include "tools/io/digest.hpp"
#include "tools/io/error.hpp"
#include "tools/io/mapped_file.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::tools {
namespace {

std::string quoted(const std::string& name) { return "tensor \"" + name + "\""; }

// The outputs and caches a case must state: all that the operator writes and that have elements.
void check_expected(const Problem& problem, const SafetensorsFile& expected) {
  for (const StoredTensor& tensor : expected.tensors()) {
    const auto id = parse<TensorId>(tensor.name);
    if (!id || (!is_output(*id) && !is_cache(*id))) {
      throw InputError(expected.path(), quoted(tensor.name) + " is no output of the operator");
    }
    const TensorDesc& desc = problem[*id];
    if (!desc.present()) {
      throw InputError(expected.path(), quoted(tensor.name) + " is not produced in this case");
    }
    const std::vector<std::int64_t> shape(desc.shape.begin(), desc.shape.begin() + desc.rank);
    if (tensor.type != storage_type(desc.dtype) || tensor.shape != shape) {
      throw InputError(expected.path(), quoted(tensor.name) + " is " + std::string(to_string(tensor.type)) + " " +
                                            shape_text(tensor.shape) + ", the case needs " +
                                            std::string(to_string(storage_type(desc.dtype))) + " " + shape_text(shape));
    }
  }
  for (const TensorId id : all_tensors()) {
    const bool written = is_output(id) || is_cache(id);
    if (!written || !problem[id].present() || problem[id].has_zero_elements()) continue;
    const std::string name(to_string(id));
    if (expected.find(name) == nullptr) throw InputError(expected.path(), quoted(name) + " is missing");
  }
}

Buffer make_input(const GoldenCase& golden, TensorId id, const GoldenInput& input, const std::string& file) {
  Buffer buffer(input.bytes);
  const std::string_view name = to_string(id);
  if (input.generator && input.bytes != 0) generate(*input.generator, golden.seed ^ fnv1a64(name), buffer.bytes());
  if (id == TensorId::token_x && !golden.zero_rows.empty()) {
    const std::size_t row = static_cast<std::size_t>(input.shape.back()) * element_size(input.storage);
    for (const std::int64_t token : golden.zero_rows) {
      const auto begin = static_cast<std::size_t>(token);
      if (row == 0 || begin >= input.bytes / row) {
        throw InputError(file, "zero_rows: there is no token " + std::to_string(token));
      }
      std::memset(buffer.bytes().data() + begin * row, 0, row);
    }
  }
  const std::uint64_t actual = digest(buffer.bytes());
  if (actual != input.checksum) {
    throw InputError(file, "inputs." + std::string(name) + ": generated data has checksum " + digest_text(actual) +
                               ", the case states " + digest_text(input.checksum));
  }
  return buffer;
}

template <typename T, typename U>
Buffer values_of(const std::vector<U>& values) {
  Buffer buffer(values.size() * sizeof(T));
  std::ranges::transform(values, buffer.as<T>().begin(), [](U value) { return static_cast<T>(value); });
  return buffer;
}

void make_inputs(const GoldenCase& golden, Operands& operands, const std::string& file) {
  for (const TensorId id : all_tensors()) {
    const auto& input = golden.input(id);
    if (!input) continue;
    Buffer made = make_input(golden, id, *input, file);
    if (is_nz_weight(id) && made.size() != 0) {
      operands[id] = Buffer(made.size());
      nd_to_nz(element_size(input->storage), input->shape[0], input->shape[1], made.data(), operands[id].data());
    } else {
      operands[id] = std::move(made);
    }
  }
  if (golden.cache_index) operands[TensorId::cache_index] = values_of<std::int64_t>(*golden.cache_index);
  if (golden.actual_seq_len) operands[TensorId::actual_seq_len] = values_of<std::int32_t>(*golden.actual_seq_len);
  if (golden.k_nope_clip_alpha) {
    operands[TensorId::k_nope_clip_alpha] = values_of<float>(std::vector<double>{*golden.k_nope_clip_alpha});
  }
}

}  // namespace

CaseVerdict verify_case(const std::string& json_path, const Planner& planner) {
  const MappedFile json(json_path);
  const GoldenCase golden = parse_golden_case(json.text(), json_path);
  const std::string tensors_path = std::filesystem::path(json_path).replace_extension(".safetensors").string();
  const SafetensorsFile expected(tensors_path);

  Operands operands;
  const bool query_norm = expected.find(std::string(to_string(TensorId::query_norm))) != nullptr;
  operands.problem = golden_problem(golden, query_norm, json_path);
  const Plan plan = planner(operands.problem, golden.profile, json_path);
  check_expected(operands.problem, expected);
  const std::size_t needed = total_bytes(operands.problem);
  if (needed > physical_memory()) {
    throw InputError(json_path,
                     "tensors of " + std::to_string(needed) + " bytes do not fit into this machine's memory");
  }
  make_inputs(golden, operands, json_path);
  operands.allocate_outputs();
  Buffer workspace(plan.workspace_bytes());
  const Status status =
      run(plan, prepare_or_throw(plan, operands), operands.pointers(), workspace.data(), workspace.size());
  if (!status.ok()) throw InputError(json_path, message(status));

  CaseVerdict verdict{golden.name, {}, std::nullopt};
  for (const StoredTensor& tensor : expected.tensors()) {
    const TensorId id = *parse<TensorId>(tensor.name);
    verdict.difference = compare(operands.problem[id].dtype, tensor.bytes, operands[id].bytes());
    if (verdict.difference) {
      verdict.tensor = tensor.name;
      break;
    }
  }
  return verdict;
}

}  // namespace mla_prolog::tools
