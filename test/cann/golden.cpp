#include "test/cann/golden.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "mla_prolog/convert.hpp"

namespace mla_prolog::test {
namespace {

using nlohmann::json;

std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x100000001B3ULL; }

/// The i-th output (from 0) of splitmix64 started at `state`.
std::uint64_t splitmix64(std::uint64_t state, std::uint64_t i) {
  std::uint64_t z = state + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t checksum(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = fnv1a(hash, word);
  }
  return hash;
}

std::vector<std::byte> generate(const std::string& name, std::uint64_t seed, const json& generator, std::size_t count) {
  const std::string dtype = generator["dtype"];
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = fnv1a(hash, static_cast<unsigned char>(c));
  const std::uint64_t state = seed ^ hash;
  static const std::map<std::string, DType> kFloats{
      {"f32", DType::float32}, {"bf16", DType::bf16}, {"e4m3", DType::float8_e4m3fn}, {"hif8", DType::hifloat8}};
  const auto format = kFloats.find(dtype);
  if (format == kFloats.end()) {
    const auto lo = generator["lo"].get<std::int64_t>();
    const auto range = static_cast<std::uint64_t>(generator["hi"].get<std::int64_t>() - lo + 1);
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::byte>(lo + static_cast<std::int64_t>(splitmix64(state, i) % range));
    }
    return bytes;
  }
  const double lo = generator["lo"];
  const double hi = generator["hi"];
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(lo + (hi - lo) * (static_cast<double>(splitmix64(state, i) >> 11) * 0x1p-53));
  }
  std::vector<std::byte> bytes(count * element_size(format->second));
  if (!encode(format->second, values.data(), count, bytes.data())) throw std::runtime_error("cannot encode " + dtype);
  return bytes;
}

template <typename T>
GoldenTensor from_list(const json& list) {
  GoldenTensor tensor;
  const auto values = list.get<std::vector<T>>();
  const auto bytes = std::as_bytes(std::span(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  tensor.shape = {static_cast<std::int64_t>(values.size())};
  return tensor;
}

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

void read_inputs(const json& text, Golden& golden) {
  for (const auto& [name, input] : text["inputs"].items()) {
    GoldenTensor tensor;
    tensor.shape = input["shape"].get<std::vector<std::int64_t>>();
    const TensorId id = parse<TensorId>(name).value();
    if (name == "cache_index" || name == "actual_seq_len" || name == "k_nope_clip_alpha") continue;
    if (input.contains("generator") && !input["generator"].is_null()) {
      tensor.bytes = generate(name, text["seed"], input["generator"], count_of(tensor.shape));
      if (id == TensorId::token_x && !tensor.bytes.empty()) {
        const std::size_t row =
            tensor.bytes.size() / count_of(tensor.shape) * static_cast<std::size_t>(tensor.shape.back());
        for (const std::size_t zero : text["zero_rows"].get<std::vector<std::size_t>>()) {
          std::fill_n(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(zero * row), row, std::byte{0});
        }
      }
      if (checksum(tensor.bytes) != std::stoull(input["checksum"].get<std::string>(), nullptr, 16)) {
        throw std::runtime_error(golden.name + ": " + name + " was not generated as the case states");
      }
    }
    golden.inputs[id] = std::move(tensor);
  }
  if (!text["cache_index"].is_null()) {
    GoldenTensor index = from_list<std::int64_t>(text["cache_index"]);
    if (text["inputs"].contains("cache_index")) {
      index.shape = text["inputs"]["cache_index"]["shape"].get<std::vector<std::int64_t>>();
    } else if (!text["fused_bs"].get<bool>()) {
      const auto batch = text["B"].get<std::int64_t>();
      index.shape = {batch, batch == 0 ? text["S"].get<std::int64_t>() : index.shape[0] / batch};
    }
    golden.inputs[TensorId::cache_index] = std::move(index);
  }
  if (!text["actual_seq_len"].is_null()) {
    golden.inputs[TensorId::actual_seq_len] = from_list<std::int32_t>(text["actual_seq_len"]);
  }
  if (!text["k_nope_clip_alpha"].is_null()) {
    golden.inputs[TensorId::k_nope_clip_alpha] = from_list<float>(json::array({text["k_nope_clip_alpha"]}));
  }
}

void read_expected(const std::filesystem::path& path, Golden& golden) {
  const std::vector<char> file = read_file(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  const char* header = file.data() + sizeof header_bytes;
  const json index = json::parse(header, header + header_bytes);
  for (const auto& [name, entry] : index.items()) {
    if (name == "__metadata__") continue;
    GoldenTensor tensor;
    tensor.shape = entry["shape"].get<std::vector<std::int64_t>>();
    const auto begin = entry["data_offsets"][0].get<std::size_t>();
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    const auto* data = reinterpret_cast<const std::byte*>(header + header_bytes);
    tensor.bytes.assign(data + begin, data + end);
    golden.expected[parse<TensorId>(name).value()] = std::move(tensor);
  }
}

}  // namespace

Golden read_golden(const std::filesystem::path& path) {
  const std::vector<char> file = read_file(path);
  const json text = json::parse(file.begin(), file.end());
  Golden golden;
  golden.name = text["name"];
  golden.profile = text["profile"];
  Attributes& a = golden.attributes;
  a.weight_quant_mode = text["weight_quant_mode"];
  a.kv_cache_quant_mode = text["kv_cache_quant_mode"];
  a.query_quant_mode = text["query_quant_mode"];
  a.ckvkr_repo_mode = text["ckvkr_repo_mode"];
  a.quant_scale_repo_mode = text["quant_scale_repo_mode"];
  a.tile_size = text["tile_size"];
  a.cache_mode = text["cache_mode"];
  a.rmsnorm_epsilon_cq = text["rmsnorm_epsilon_cq"];
  a.rmsnorm_epsilon_ckv = text["rmsnorm_epsilon_ckv"];
  a.qc_qr_scale = text["qc_qr_scale"];
  a.kc_scale = text["kc_scale"];
  read_inputs(text, golden);
  read_expected(std::filesystem::path(path).replace_extension(".safetensors"), golden);
  return golden;
}

DType golden_dtype(const Golden& golden, TensorId id) {
  const std::int64_t w = golden.attributes.weight_quant_mode;
  const std::int64_t kv = golden.attributes.kv_cache_quant_mode;
  constexpr std::array<DType, 6> kWeights{DType::bf16,          DType::int8,          DType::int8,
                                          DType::float8_e4m3fn, DType::float8_e4m3fn, DType::hifloat8};
  const DType codes = kWeights[static_cast<std::size_t>(w)];
  switch (id) {
    case TensorId::token_x:
    case TensorId::weight_dq:
    case TensorId::weight_dkv_kr:
      return w == 1 ? DType::bf16 : codes;
    case TensorId::weight_uq_qr:
    case TensorId::query_norm:
      return codes;
    case TensorId::kv_cache:
      return kv == 0 ? DType::bf16 : codes;
    case TensorId::kr_cache:
      return kv == 2 ? DType::int8 : DType::bf16;
    case TensorId::query:
      return kv == 1 ? codes : DType::bf16;
    case TensorId::cache_index:
      return DType::int64;
    case TensorId::actual_seq_len:
      return DType::int32;
    case TensorId::dequant_scale_x:
    case TensorId::dequant_scale_w_dq:
    case TensorId::dequant_scale_w_uq_qr:
    case TensorId::dequant_scale_w_dkv_kr:
    case TensorId::dequant_scale_q_norm:
      return w == 3 ? DType::float8_e8m0 : DType::float32;
    case TensorId::weight_uk:
    case TensorId::rmsnorm_gamma_cq:
    case TensorId::rmsnorm_gamma_ckv:
    case TensorId::rope_sin:
    case TensorId::rope_cos:
    case TensorId::query_rope:
      return DType::bf16;
    default:
      return DType::float32;
  }
}

}  // namespace mla_prolog::test
