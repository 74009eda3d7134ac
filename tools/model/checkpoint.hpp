// Weights of one attention layer from a Hugging Face model directory or a single safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tools/io/safetensors.hpp"
#include "tools/model/layer_weights.hpp"
#include "tools/model/model.hpp"

namespace mla_prolog::tools {

struct CheckpointPlace {
  std::string path;
  std::int64_t layer = 0;
  std::optional<std::int64_t> sublayer;
};

class Checkpoint {
 public:
  /// Reads what is needed to know the dimensions. Throws InputError.
  /// @param nope_dim  D where only shapes tell the dimensions (a single file); heads follow from it
  Checkpoint(const CheckpointPlace& place, std::int64_t nope_dim);

  const ModelDims& dims() const noexcept { return dims_; }
  /// Of `config.json`; absent for a single file.
  const std::optional<ModelConfig>& config() const noexcept { return config_; }

  /// Loads the first `heads` heads. Throws InputError.
  LayerWeights load(std::int64_t heads);

 private:
  /// "model.layers.L.self_attn." or "model.layers.L.self_attn.K." and the given end.
  std::string full_name(const std::string& end) const;
  const SafetensorsFile& file_of(const std::string& name);
  const SafetensorsFile& open(const std::string& path);
  /// Throws when it is missing, saying what is there instead if that explains it.
  const StoredTensor& tensor(const std::string& name);
  const StoredTensor* optional_tensor(const std::string& name);
  void derive_dims(std::int64_t nope_dim);
  FloatTensor read_rows(const std::string& end, std::int64_t rows, std::int64_t columns, std::int64_t wanted_rows);
  FloatTensor read_vector(const std::string& end, std::int64_t size);
  Buffer dequantise_blocks(const StoredTensor& weight, const std::string& name, std::int64_t wanted_rows);
  [[noreturn]] void fail(const std::string& name, const std::string& cause);

  CheckpointPlace place_;
  bool sharded_ = false;
  ModelDims dims_;
  std::int64_t v_head_dim_ = 0;
  std::optional<ModelConfig> config_;
  std::map<std::string, std::string> shard_of_;  ///< tensor name to path, when sharded
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
};

}  // namespace mla_prolog::tools
