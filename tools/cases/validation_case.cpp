#include "tools/cases/validation_case.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/io/json.hpp"
#include "tools/io/mapped_file.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::array kNumbers{
    std::pair{"rmsnorm_epsilon_cq", &Attributes::rmsnorm_epsilon_cq},
    std::pair{"rmsnorm_epsilon_ckv", &Attributes::rmsnorm_epsilon_ckv},
    std::pair{"qc_qr_scale", &Attributes::qc_qr_scale},
    std::pair{"kc_scale", &Attributes::kc_scale},
};
constexpr std::array kIntegers{
    std::pair{"weight_quant_mode", &Attributes::weight_quant_mode},
    std::pair{"kv_cache_quant_mode", &Attributes::kv_cache_quant_mode},
    std::pair{"query_quant_mode", &Attributes::query_quant_mode},
    std::pair{"ckvkr_repo_mode", &Attributes::ckvkr_repo_mode},
    std::pair{"quant_scale_repo_mode", &Attributes::quant_scale_repo_mode},
    std::pair{"tile_size", &Attributes::tile_size},
};

TensorDesc read_tensor(const JsonNode& node) {
  const std::string& dtype_name = node["dtype"].text();
  const auto dtype = parse<DType>(dtype_name);
  if (!dtype) node["dtype"].fail("unknown dtype \"" + dtype_name + "\"");
  const std::string& format_name = node["format"].text();
  const auto format = parse<Format>(format_name);
  if (!format) node["format"].fail("unknown format \"" + format_name + "\"");
  return TensorDesc::dense(*dtype, node["shape"].integers(), *format);
}

void read_tensors(const JsonNode& tensors, bool outputs, Problem& problem) {
  for (const auto& [name, node] : tensors.members()) {
    const auto id = parse<TensorId>(name);
    if (!id || is_output(*id) != outputs) node.fail(outputs ? "is no output" : "is no input");
    problem[*id] = node.is_null() ? TensorDesc{} : read_tensor(node);
  }
}

void read_attributes(const JsonNode& attrs, Attributes& attributes) {
  for (const auto& [key, node] : attrs.members()) {
    const auto named = [&key = key](const auto& row) { return key == row.first; };
    const auto* const number = std::ranges::find_if(kNumbers, named);
    const auto* const integer = std::ranges::find_if(kIntegers, named);
    if (number != kNumbers.end()) {
      attributes.*number->second = node.number();
    } else if (integer != kIntegers.end()) {
      attributes.*integer->second = node.integer();
    } else if (key == "cache_mode") {
      if (!node.is_null()) attributes.cache_mode = node.text();
    } else {
      node.fail("is no attribute of the operator");
    }
  }
}

Soc read_soc(const JsonNode& node) {
  if (node.text() == "a2") return Soc::ascend910b;
  if (node.text() == "950") return Soc::ascend950;
  node.fail("unknown soc \"" + node.text() + "\"");
}

// The id is printed as one word of a line.
std::string read_id(const JsonNode& node) {
  const std::string& id = node.text();
  const bool printable = std::ranges::all_of(id, [](char c) { return c > ' ' && c < 0x7F; });
  if (id.empty() || !printable) node.fail("must be one word of printable characters");
  return id;
}

ValidationCase read_case(const JsonNode& node) {
  ValidationCase result;
  result.id = read_id(node["id"]);
  result.soc = read_soc(node["soc"]);
  read_tensors(node["inputs"], false, result.problem);
  read_tensors(node["outputs"], true, result.problem);
  read_attributes(node["attrs"], result.problem.attributes);
  if (const auto status = node.find("expected_status")) result.expected_status = status->integer();
  if (const auto bytes = node.find("expected_workspace")) result.expected_workspace = bytes->unsigned_integer();
  return result;
}

}  // namespace

std::vector<ValidationCase> parse_validation_cases(std::string_view json, const std::string& file) {
  const nlohmann::json document = parse_json(json, file);
  std::vector<ValidationCase> cases;
  for (const JsonNode& node : JsonNode(document, file)["cases"].elements()) cases.push_back(read_case(node));
  return cases;
}

std::vector<ValidationCase> read_validation_cases(const std::filesystem::path& path) {
  const MappedFile file(path.string());
  return parse_validation_cases(file.text(), path.string());
}

}  // namespace mla_prolog::tools
