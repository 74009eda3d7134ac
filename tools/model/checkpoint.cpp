#include "tools/model/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "mla_prolog/convert.hpp"
#include "tools/io/error.hpp"
#include "tools/io/mapped_file.hpp"

namespace mla_prolog::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kScaleBlock = 128;

// A shard's name comes from a file, so it must not lead out of the directory.
std::string shard_path(const fs::path& directory, const JsonNode& name) {
  const fs::path relative = fs::path(name.text()).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..") {
    name.fail("names a file outside the model's directory");
  }
  return (directory / relative).string();
}

// What other quantised formats store beside or instead of `X.weight`.
constexpr std::array kForeignSuffixes{".qweight", ".weight_packed", ".weight_scale", ".weight.absmax", ".SCB"};

std::string stem_of(const std::string& name) {
  constexpr std::string_view kEnd = ".weight";
  return name.ends_with(kEnd) ? name.substr(0, name.size() - kEnd.size()) : name;
}

}  // namespace

Checkpoint::Checkpoint(const CheckpointPlace& place, std::int64_t nope_dim) : place_(place) {
  const fs::path path(place.path);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    open(place.path);
    derive_dims(nope_dim);
    return;
  }
  const std::string config_path = (path / "config.json").string();
  config_ = parse_model_config(MappedFile(config_path).text(), config_path);
  dims_ = config_->dims;
  const std::string index_path = (path / "model.safetensors.index.json").string();
  if (fs::exists(index_path, error)) {
    sharded_ = true;
    const nlohmann::json index = parse_json(MappedFile(index_path).text(), index_path);
    for (const auto& [name, shard] : JsonNode(index, index_path)["weight_map"].members()) {
      shard_of_.emplace(name, shard_path(path, shard));
    }
  } else {
    open((path / "model.safetensors").string());
  }
  // The rows per head tell the width of the value part, which the operator does not use.
  const StoredTensor& kv_b = tensor(full_name("kv_b_proj.weight"));
  const std::int64_t rows = kv_b.shape.empty() ? 0 : kv_b.shape[0];
  v_head_dim_ = config_->v_head_dim.value_or(rows / dims_.n - dims_.d);
}

void Checkpoint::derive_dims(std::int64_t nope_dim) {
  const auto matrix = [this](const std::string& end) {
    const std::string name = full_name(end);
    const StoredTensor& found = tensor(name);
    if (found.shape.size() != 2) fail(name, "has shape " + shape_text(found.shape) + ", must be a matrix");
    return found.shape;
  };
  const auto q_a = matrix("q_a_proj.weight");
  const auto q_b = matrix("q_b_proj.weight");
  const auto kv_b = matrix("kv_b_proj.weight");
  dims_ = {q_a[1], q_a[0], 0, nope_dim};
  const std::int64_t head_rows = nope_dim + kDr;
  if (q_b[0] == 0 || q_b[0] % head_rows != 0) {
    fail(full_name("q_b_proj.weight"), "has " + std::to_string(q_b[0]) + " rows, no multiple of " +
                                           std::to_string(head_rows) + " (--nope-dim plus 64)");
  }
  dims_.n = q_b[0] / head_rows;
  v_head_dim_ = kv_b[0] / dims_.n - nope_dim;
}

std::string Checkpoint::full_name(const std::string& end) const {
  std::string name = "model.layers." + std::to_string(place_.layer) + ".self_attn.";
  if (place_.sublayer) name += std::to_string(*place_.sublayer) + ".";
  return name + end;
}

const SafetensorsFile& Checkpoint::open(const std::string& path) {
  std::unique_ptr<SafetensorsFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<SafetensorsFile>(path);
  return *file;
}

const SafetensorsFile& Checkpoint::file_of(const std::string& name) {
  if (!sharded_) return *files_.begin()->second;
  return open(shard_of_.at(name));
}

void Checkpoint::fail(const std::string& name, const std::string& cause) {
  const bool known = !sharded_ || shard_of_.contains(name);
  const std::string file = known ? file_of(name).path() : place_.path;
  throw InputError(file, "tensor \"" + name + "\" " + cause);
}

const StoredTensor* Checkpoint::optional_tensor(const std::string& name) {
  if (sharded_ && !shard_of_.contains(name)) return nullptr;
  return file_of(name).find(name);
}

const StoredTensor& Checkpoint::tensor(const std::string& name) {
  const StoredTensor* const found = optional_tensor(name);
  if (found != nullptr) return *found;
  for (const char* suffix : kForeignSuffixes) {
    if (optional_tensor(stem_of(name) + suffix) != nullptr) {
      fail(name, "is missing; there is " + stem_of(name) + suffix + " of a quantised format that is not supported");
    }
  }
  if (!place_.sublayer) {
    CheckpointPlace with_sublayer = place_;
    with_sublayer.sublayer = 0;
    std::swap(place_, with_sublayer);
    const bool longcat = optional_tensor(full_name("q_a_proj.weight")) != nullptr;
    std::swap(place_, with_sublayer);
    if (longcat) fail(name, "is missing; this model's layers have two attentions: choose one with --sublayer 0 or 1");
  }
  fail(name, "is missing");
}

Buffer Checkpoint::dequantise_blocks(const StoredTensor& weight, const std::string& name, std::int64_t wanted_rows) {
  const std::string scale_name = name + "_scale_inv";
  const StoredTensor* const scale = optional_tensor(scale_name);
  if (scale == nullptr) {
    for (const char* suffix : kForeignSuffixes) {
      const std::string foreign = stem_of(name) + suffix;
      if (optional_tensor(foreign) != nullptr)
        fail(name, "is float8 scaled by " + foreign + ", which is not supported");
    }
    fail(scale_name, "is missing");
  }
  const std::int64_t columns = weight.shape[1];
  const std::int64_t scale_columns = (columns + kScaleBlock - 1) / kScaleBlock;
  const std::vector<std::int64_t> scale_shape{(weight.shape[0] + kScaleBlock - 1) / kScaleBlock, scale_columns};
  if (!is_float(scale->type) || scale->shape != scale_shape) {
    fail(scale_name, "is " + std::string(to_string(scale->type)) + " " + shape_text(scale->shape) +
                         ", must be F32 (or BF16, F16) " + shape_text(scale_shape));
  }
  const Buffer scales = to_float32(*scale, scale->elements());
  const auto scale_of = scales.as<float>();
  Buffer values(static_cast<std::size_t>(wanted_rows * columns) * sizeof(float));
  const auto out = values.as<float>();
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < wanted_rows; ++row) {
    const std::size_t first = static_cast<std::size_t>(row * columns);
    float* const line = out.data() + first;
    decode(DType::float8_e4m3fn, weight.bytes.data() + first, static_cast<std::size_t>(columns), line);
    for (std::int64_t column = 0; column < columns; ++column) {
      line[column] *= scale_of[static_cast<std::size_t>(row / kScaleBlock * scale_columns + column / kScaleBlock)];
    }
  }
  return values;
}

FloatTensor Checkpoint::read_rows(const std::string& end, std::int64_t rows, std::int64_t columns,
                                  std::int64_t wanted_rows) {
  const std::string name = full_name(end);
  const StoredTensor& weight = tensor(name);
  const std::vector<std::int64_t> shape{rows, columns};
  if (weight.shape != shape) {
    fail(name, "has shape " + shape_text(weight.shape) + ", must be " + shape_text(shape));
  }
  const auto wanted = static_cast<std::size_t>(wanted_rows * columns);
  switch (weight.type) {
    case StorageType::bf16:
      return {DType::bf16, {wanted_rows, columns}, Buffer::copy_of(weight.bytes.first(wanted * 2))};
    case StorageType::f16:
    case StorageType::f32:
      return {DType::float32, {wanted_rows, columns}, to_float32(weight, wanted)};
    case StorageType::f8_e4m3:
      return {DType::float32, {wanted_rows, columns}, dequantise_blocks(weight, name, wanted_rows)};
    default:
      fail(name, "is stored as " + std::string(to_string(weight.type)) +
                     ", which is not supported (BF16, F16, F32 and block-scaled F8_E4M3 are)");
  }
}

FloatTensor Checkpoint::read_vector(const std::string& end, std::int64_t size) {
  const std::string name = full_name(end);
  const StoredTensor& vector = tensor(name);
  if (vector.shape != std::vector<std::int64_t>{size}) {
    fail(name, "has shape " + shape_text(vector.shape) + ", must be [" + std::to_string(size) + "]");
  }
  if (!is_float(vector.type)) {
    fail(name, "is stored as " + std::string(to_string(vector.type)) + ", must be BF16, F16 or F32");
  }
  return {DType::float32, {size}, to_float32(vector, vector.elements())};
}

LayerWeights Checkpoint::load(std::int64_t heads) {
  const std::int64_t head_rows = dims_.d + kDr;
  const std::int64_t kv_head_rows = dims_.d + v_head_dim_;
  if (v_head_dim_ <= 0) fail(full_name("kv_b_proj.weight"), "has too few rows for the heads' value parts");
  LayerWeights weights;
  weights.weight_dq = transposed(read_rows("q_a_proj.weight", dims_.hcq, dims_.he, dims_.hcq));
  weights.weight_uq_qr = transposed(read_rows("q_b_proj.weight", dims_.n * head_rows, dims_.hcq, heads * head_rows));
  weights.weight_dkv_kr = transposed(read_rows("kv_a_proj_with_mqa.weight", kHckv + kDr, dims_.he, kHckv + kDr));
  const FloatTensor kv_b = read_rows("kv_b_proj.weight", dims_.n * kv_head_rows, kHckv, heads * kv_head_rows);
  weights.weight_uk = first_rows_of_groups(kv_b, heads, kv_head_rows, dims_.d);
  weights.rmsnorm_gamma_cq = read_vector("q_a_layernorm.weight", dims_.hcq);
  weights.rmsnorm_gamma_ckv = read_vector("kv_a_layernorm.weight", kHckv);
  return weights;
}

}  // namespace mla_prolog::tools
