#include "tools/cases/golden_case.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tools/io/json.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::tools {
namespace {

struct GeneratorRow {
  std::string_view name;
  GeneratorType type;
  std::int64_t lowest;
  std::int64_t highest;
};
template <typename T>
constexpr GeneratorRow integer_row(std::string_view name, GeneratorType type) {
  return {name, type, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
constexpr std::array kGenerators{
    integer_row<std::int8_t>("int8", GeneratorType::int8),
    integer_row<std::uint8_t>("uint8", GeneratorType::uint8),
    integer_row<std::int16_t>("int16", GeneratorType::int16),
    integer_row<std::int32_t>("int32", GeneratorType::int32),
    integer_row<std::int64_t>("int64", GeneratorType::int64),
    integer_row<std::uint8_t>("e8m0", GeneratorType::e8m0),
    GeneratorRow{"f32", GeneratorType::f32, 0, 0},
    GeneratorRow{"bf16", GeneratorType::bf16, 0, 0},
    GeneratorRow{"f16", GeneratorType::f16, 0, 0},
    GeneratorRow{"e4m3", GeneratorType::e4m3, 0, 0},
    GeneratorRow{"hif8", GeneratorType::hif8, 0, 0},
};

Generator read_generator(const JsonNode& node) {
  const std::string& name = node["dtype"].text();
  const auto* const row = std::ranges::find(kGenerators, name, &GeneratorRow::name);
  if (row == kGenerators.end()) node["dtype"].fail("unknown generator dtype \"" + name + "\"");
  Generator generator;
  generator.type = row->type;
  if (is_integer(row->type)) {
    generator.lo_integer = node["lo"].integer(row->lowest, row->highest);
    generator.hi_integer = node["hi"].integer(row->lowest, row->highest);
    if (generator.lo_integer > generator.hi_integer) node.fail("lo is above hi");
  } else {
    generator.lo = node["lo"].number();
    generator.hi = node["hi"].number();
    if (generator.lo > generator.hi) node.fail("lo is above hi");
  }
  return generator;
}

std::uint64_t read_checksum(const JsonNode& node) {
  const std::string& text = node.text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    node.fail("must be a hexadecimal 64-bit number");
  }
  return value;
}

GoldenInput read_input(const JsonNode& node) {
  GoldenInput input;
  const std::string& storage = node["storage"].text();
  // Of the types that files may hold, those that an input of the operator can have.
  if (!parse_storage_type(storage, input.storage) ||
      operator_dtype(input.storage, TensorId::none, 0) == DType::undefined) {
    node["storage"].fail("unknown storage type \"" + storage + "\"");
  }
  input.shape = node["shape"].integers(0);
  if (input.shape.size() > static_cast<std::size_t>(kMaxRank)) node["shape"].fail("has too many dimensions");
  if (!checked_bytes(input.shape, element_size(input.storage), input.bytes)) {
    node["shape"].fail("size of " + shape_text(input.shape) + " overflows");
  }
  if (const auto generator = node.find("generator")) {
    input.generator = read_generator(*generator);
    if (element_size(input.generator->type) != element_size(input.storage)) {
      generator->fail("makes elements of another size than storage " + storage + " has");
    }
  } else if (input.bytes != 0) {
    node.fail("has elements but no generator");
  }
  input.checksum = read_checksum(node["checksum"]);
  return input;
}

// The shapes of the inputs govern; a case may also state its sizes, for people.
void check_sizes(const JsonNode& root) {
  if (const auto fused = root.find("fused_bs")) fused->boolean();
  for (const char* const size : {"T", "B", "S", "He", "Hcq", "N", "D", "block_num", "block_size"}) {
    if (const auto node = root.find(size)) node->integer(0);
  }
}

std::string read_name(const JsonNode& node) {
  const std::string& name = node.text();
  const bool printable = std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7F; });
  if (name.empty() || !printable) node.fail("must be one word of printable characters");
  return name;
}

}  // namespace

GoldenCase parse_golden_case(std::string_view text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  const JsonNode root(document, file);
  GoldenCase golden;
  golden.name = read_name(root["name"]);
  const auto profile = parse<Profile>(root["profile"].text());
  if (!profile) root["profile"].fail("unknown profile \"" + root["profile"].text() + "\"");
  golden.profile = *profile;

  Attributes& attributes = golden.attributes;
  attributes.weight_quant_mode = root["weight_quant_mode"].integer();
  attributes.kv_cache_quant_mode = root["kv_cache_quant_mode"].integer();
  attributes.query_quant_mode = root["query_quant_mode"].integer();
  attributes.ckvkr_repo_mode = root["ckvkr_repo_mode"].integer();
  attributes.quant_scale_repo_mode = root["quant_scale_repo_mode"].integer();
  attributes.tile_size = root["tile_size"].integer();
  attributes.cache_mode = root["cache_mode"].text();
  attributes.rmsnorm_epsilon_cq = root["rmsnorm_epsilon_cq"].number();
  attributes.rmsnorm_epsilon_ckv = root["rmsnorm_epsilon_ckv"].number();
  attributes.qc_qr_scale = root["qc_qr_scale"].number();
  attributes.kc_scale = root["kc_scale"].number();

  check_sizes(root);

  golden.seed = root["seed"].unsigned_integer();
  golden.zero_rows = root["zero_rows"].integers(0);
  if (const auto index = root.find("cache_index")) golden.cache_index = index->integers();
  if (const auto lengths = root.find("actual_seq_len")) {
    golden.actual_seq_len =
        lengths->integers(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  }
  if (const auto alpha = root.find("k_nope_clip_alpha")) golden.k_nope_clip_alpha = alpha->number();

  for (const auto& [key, node] : root["inputs"].members()) {
    const auto id = parse<TensorId>(key);
    const bool in_root =
        id == TensorId::cache_index || id == TensorId::actual_seq_len || id == TensorId::k_nope_clip_alpha;
    if (!id || is_output(*id) || in_root) node.fail("is no generated input of the operator");
    golden.inputs[static_cast<std::size_t>(*id)] = read_input(node);
  }
  return golden;
}

}  // namespace mla_prolog::tools
