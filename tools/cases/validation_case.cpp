#include "tools/cases/validation_case.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace mla_prolog::tools {
namespace {

using Json = nlohmann::json;

// A cause is one line, whatever the file contains.
std::string printable(std::string text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw std::runtime_error(printable(where + ": " + what));
}

const Json& object(const Json& value, const std::string& where) {
  if (!value.is_object()) fail(where, "not a JSON object");
  return value;
}

const Json& member(const Json& value, const char* key, const std::string& where) {
  const auto found = object(value, where).find(key);
  if (found == value.end()) fail(where, std::string("no \"") + key + '"');
  return *found;
}

std::string string(const Json& value, const std::string& where) {
  if (!value.is_string()) fail(where, "not a string");
  return value.get<std::string>();
}

std::int64_t integer(const Json& value, const std::string& where) {
  const bool too_large =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() || too_large) fail(where, "not a 64-bit integer");
  return value.get<std::int64_t>();
}

double number(const Json& value, const std::string& where) {
  if (!value.is_number()) fail(where, "not a number");
  return value.get<double>();
}

TensorDesc tensor(const Json& value, const std::string& where) {
  if (value.is_null()) return {};
  const std::string dtype_name = string(member(value, "dtype", where), where + ".dtype");
  const auto dtype = parse<DType>(dtype_name);
  if (!dtype) fail(where, "unknown dtype " + dtype_name);
  const std::string format_name = string(member(value, "format", where), where + ".format");
  const auto format = parse<Format>(format_name);
  if (!format) fail(where, "unknown format " + format_name);
  const Json& sizes = member(value, "shape", where);
  if (!sizes.is_array()) fail(where + ".shape", "not an array");
  std::vector<std::int64_t> shape;
  for (const Json& size : sizes) shape.push_back(integer(size, where + ".shape"));
  return TensorDesc::dense(*dtype, shape, *format);
}

void read_tensors(const Json& tensors, bool outputs, const std::string& where, Problem& problem) {
  for (const auto& [name, value] : object(tensors, where).items()) {
    const auto id = parse<TensorId>(name);
    if (!id || is_output(*id) != outputs) fail(where, "unknown tensor " + name);
    problem[*id] = tensor(value, where + '.' + name);
  }
}

void read_attributes(const Json& values, const std::string& where, Attributes& attributes) {
  constexpr std::pair<const char*, double Attributes::*> kNumbers[] = {
      {"rmsnorm_epsilon_cq", &Attributes::rmsnorm_epsilon_cq},
      {"rmsnorm_epsilon_ckv", &Attributes::rmsnorm_epsilon_ckv},
      {"qc_qr_scale", &Attributes::qc_qr_scale},
      {"kc_scale", &Attributes::kc_scale},
  };
  constexpr std::pair<const char*, std::int64_t Attributes::*> kIntegers[] = {
      {"weight_quant_mode", &Attributes::weight_quant_mode},
      {"kv_cache_quant_mode", &Attributes::kv_cache_quant_mode},
      {"query_quant_mode", &Attributes::query_quant_mode},
      {"ckvkr_repo_mode", &Attributes::ckvkr_repo_mode},
      {"quant_scale_repo_mode", &Attributes::quant_scale_repo_mode},
      {"tile_size", &Attributes::tile_size},
  };
  const auto named = [](const std::string& name) { return [&name](const auto& row) { return name == row.first; }; };
  for (const auto& [name, value] : object(values, where).items()) {
    const std::string here = where + '.' + name;
    const auto number_row = std::find_if(std::begin(kNumbers), std::end(kNumbers), named(name));
    const auto integer_row = std::find_if(std::begin(kIntegers), std::end(kIntegers), named(name));
    if (number_row != std::end(kNumbers)) {
      attributes.*number_row->second = number(value, here);
    } else if (integer_row != std::end(kIntegers)) {
      attributes.*integer_row->second = integer(value, here);
    } else if (name == "cache_mode") {
      if (!value.is_null()) attributes.cache_mode = string(value, here);
    } else {
      fail(where, "unknown attribute " + name);
    }
  }
}

Soc soc(const std::string& name, const std::string& where) {
  if (name == "a2") return Soc::ascend910b;
  if (name == "950") return Soc::ascend950;
  fail(where, "unknown soc " + name);
}

ValidationCase read_case(const Json& value, std::size_t index) {
  ValidationCase result;
  std::string where = "case " + std::to_string(index);
  result.id = string(member(value, "id", where), where + ".id");
  if (result.id.empty() || printable(result.id) != result.id) fail(where, "its id is empty, overlong or not printable");
  where = "case " + result.id;
  result.soc = soc(string(member(value, "soc", where), where + ".soc"), where);
  read_tensors(member(value, "inputs", where), false, where + " inputs", result.problem);
  read_tensors(member(value, "outputs", where), true, where + " outputs", result.problem);
  read_attributes(member(value, "attrs", where), where + " attrs", result.problem.attributes);

  const auto expected = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = value.find(key);
    if (found == value.end() || found->is_null()) return std::nullopt;
    return integer(*found, where + '.' + key);
  };
  result.expected_status = expected("expected_status");
  if (const auto bytes = expected("expected_workspace")) {
    if (*bytes < 0) fail(where + ".expected_workspace", "negative");
    result.expected_workspace = static_cast<std::uint64_t>(*bytes);
  }
  return result;
}

}  // namespace

std::vector<ValidationCase> parse_validation_cases(std::string_view json) {
  Json document;
  try {
    document = Json::parse(json.begin(), json.end());
  } catch (const Json::exception& error) {
    throw std::runtime_error(printable(std::string("not JSON: ") + error.what()));
  }
  const Json& cases = member(document, "cases", "the file");
  if (!cases.is_array()) fail("the file", "its cases are not an array");
  std::vector<ValidationCase> result;
  result.reserve(cases.size());
  for (const Json& value : cases) result.push_back(read_case(value, result.size()));
  return result;
}

std::vector<ValidationCase> read_validation_cases(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) throw std::runtime_error("is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw std::runtime_error("cannot be read");
  return parse_validation_cases(text);
}

}  // namespace mla_prolog::tools
