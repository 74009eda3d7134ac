#include "tools/run/request.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/io/error.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 40;

// A size that several sources may state; they must agree.
class Size {
 public:
  explicit Size(std::string what) : what_(std::move(what)) {}

  void give(std::int64_t value, const std::string& source) {
    if (value_ && *value_ != value) {
      throw UsageError(source + ": " + what_ + " " + std::to_string(value) + " conflicts with " +
                       std::to_string(*value_) + " of " + source_);
    }
    if (value_) return;
    value_ = value;
    source_ = source;
  }
  void give(const std::optional<std::int64_t>& value, const std::string& source) {
    if (value) give(*value, source);
  }
  void give_default(std::int64_t value) {
    if (!value_) value_ = value;
  }
  bool known() const noexcept { return value_.has_value(); }
  std::int64_t value() const { return *value_; }
  [[noreturn]] void fail(const std::string& rule) const {
    throw UsageError(source_ + ": " + what_ + " " + std::to_string(*value_) + " " + rule);
  }

 private:
  std::string what_;
  std::optional<std::int64_t> value_;
  std::string source_;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::string in_file(std::string_view tensor, const InputFile& input) {
  return std::string(tensor) + " of " + input.path();
}

const ModelPreset& preset_or_throw(const std::string& name) {
  if (const ModelPreset* const preset = find_preset(name)) return *preset;
  std::string known;
  for (const ModelPreset& preset : model_presets()) known.append(" ").append(preset.name);
  throw UsageError("--model " + name + ": is unknown; there is:" + known);
}

const StoredTensor* matrix(const InputFile& input, TensorId id, std::size_t rank) {
  const StoredTensor* const tensor = input.find(id);
  if (tensor != nullptr && tensor->shape.size() != rank) {
    input.fail(*tensor,
               "has shape " + shape_text(tensor->shape) + ", must have " + std::to_string(rank) + " dimensions");
  }
  return tensor;
}

std::int64_t share_of_rank(std::int64_t heads, std::int64_t ranks) {
  if (heads % ranks != 0) {
    throw UsageError("--tp " + std::to_string(ranks) + ": does not divide " + std::to_string(heads) + " heads");
  }
  return heads / ranks;
}

void resolve_dims(const RunRequest& request, RunSetting& setting) {
  Size he("hidden size");
  Size hcq("q-lora rank");
  Size heads("heads (of this rank)");
  Size d("nope dim");
  he.give(request.he, "--he");
  hcq.give(request.hcq, "--hcq");
  d.give(request.nope_dim, "--nope-dim");
  std::optional<std::int64_t> total = request.heads;
  std::string total_source = "--heads";

  if (setting.checkpoint != nullptr) {
    const ModelDims& dims = setting.checkpoint->dims();
    he.give(dims.he, *request.checkpoint);
    hcq.give(dims.hcq, *request.checkpoint);
    d.give(dims.d, *request.checkpoint);
    if (total && *total != dims.n) {
      throw UsageError("--heads " + std::to_string(*total) + ": conflicts with " + std::to_string(dims.n) + " of " +
                       *request.checkpoint + " (--tp gives one rank's share)");
    }
    total = dims.n;
    total_source = *request.checkpoint;
  }
  const ModelDims preset = preset_or_throw(request.model.value_or("deepseek-v3")).dims;
  if (request.model) {  // single dims override the model, files must agree with it
    const std::string source = "--model " + *request.model;
    if (!he.known()) he.give(preset.he, source);
    if (!hcq.known()) hcq.give(preset.hcq, source);
    if (!d.known()) d.give(preset.d, source);
    if (!total) {
      total = preset.n;
      total_source = source;
    }
  }
  if (total) {
    heads.give(share_of_rank(*total, request.tp), total_source);
  }

  if (setting.input != nullptr) {
    const InputFile& input = *setting.input;
    const StoredTensor* const x = input.find(TensorId::token_x);
    if (x != nullptr && !x->shape.empty()) he.give(x->shape.back(), in_file("token_x", input));
    if (const auto* w = matrix(input, TensorId::weight_dq, 2)) {
      he.give(w->shape[0], in_file("weight_dq", input));
      hcq.give(w->shape[1], in_file("weight_dq", input));
    }
    if (const auto* w = matrix(input, TensorId::weight_dkv_kr, 2))
      he.give(w->shape[0], in_file("weight_dkv_kr", input));
    if (const auto* w = matrix(input, TensorId::weight_uq_qr, 2)) hcq.give(w->shape[0], in_file("weight_uq_qr", input));
    if (const auto* w = matrix(input, TensorId::weight_uk, 3)) {
      heads.give(w->shape[0], in_file("weight_uk", input));
      d.give(w->shape[1], in_file("weight_uk", input));
    }
  }
  he.give_default(preset.he);
  hcq.give_default(preset.hcq);
  d.give_default(preset.d);
  if (!heads.known()) heads.give_default(share_of_rank(preset.n, request.tp));
  // A FRACTAL_NZ shape would round it.
  if (hcq.value() % 64 != 0) hcq.fail("must be a multiple of 64");
  setting.config.he = he.value();
  setting.config.hcq = hcq.value();
  setting.config.n = heads.value();
  setting.config.d = d.value();
  setting.total_heads = heads.value() * request.tp;
}

void resolve_tokens(const RunRequest& request, RunSetting& setting) {
  if (request.tokens && (request.batch || request.seq)) throw UsageError("--tokens: conflicts with --batch and --seq");
  if (request.batch.has_value() != request.seq.has_value()) throw UsageError("--batch and --seq belong together");
  ProblemConfig& config = setting.config;
  const StoredTensor* const x = setting.input == nullptr ? nullptr : setting.input->find(TensorId::token_x);
  if (x != nullptr) {
    const std::string source = in_file("token_x", *setting.input);
    if (x->shape.size() != 2 && x->shape.size() != 3) {
      setting.input->fail(*x, "has shape " + shape_text(x->shape) + ", must have 2 or 3 dimensions");
    }
    config.batched = x->shape.size() == 3;
    if (config.batched ? request.tokens.has_value() : request.batch.has_value()) {
      throw UsageError((config.batched ? "--tokens: " : "--batch, --seq: ") + std::string("conflicts with ") + source +
                       ", " + shape_text(x->shape));
    }
    Size tokens("tokens");
    Size batch("batch");
    Size seq("seq");
    tokens.give(request.tokens, "--tokens");
    batch.give(request.batch, "--batch");
    seq.give(request.seq, "--seq");
    if (config.batched) {
      batch.give(x->shape[0], source);
      seq.give(x->shape[1], source);
      config.batch = batch.value();
      config.seq = seq.value();
    } else {
      tokens.give(x->shape[0], source);
      config.tokens = tokens.value();
    }
    return;
  }
  constexpr std::int64_t kDefaultTokens = 8;
  // BSND exists for 3-D tokens only.
  config.batched = request.batch.has_value() || (config.cache_mode == CacheMode::bsnd && !request.tokens);
  config.batch = request.batch.value_or(1);
  config.seq = request.seq.value_or(kDefaultTokens);
  config.tokens = request.tokens.value_or(kDefaultTokens);
}

// Said before anything is allocated per token: the least that tokens and queries take.
void require_memory_for_tokens(const RunSetting& setting) {
  const ProblemConfig& config = setting.config;
  const double tokens = config.batched ? static_cast<double>(config.batch) * static_cast<double>(config.seq)
                                       : static_cast<double>(config.tokens);
  const double per_token = static_cast<double>(config.he) + static_cast<double>(config.n) * (kHckv + 2.0 * kDr);
  if (tokens * per_token > static_cast<double>(physical_memory())) {
    throw UsageError("memory: so many tokens do not fit into this machine's memory");
  }
}

// Block tables of one sequence after another, each block its own: as many as the tokens need.
std::int64_t blocks_needed(const RunSetting& setting) {
  const ProblemConfig& config = setting.config;
  if (!setting.by_block()) return ceil_div(setting.tokens(), config.block_size);
  if (config.batched) return config.batch * ceil_div(config.seq, config.block_size);
  std::int64_t blocks = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < setting.actual_seq_len.size(); ++i) {
    // Tokens beyond the last prefix sum continue the last sequence.
    const bool last = i + 1 == setting.actual_seq_len.size();
    const std::int64_t stated = setting.actual_seq_len[i];
    const std::int64_t end = last ? std::max(stated, config.tokens) : stated;
    blocks += ceil_div(std::max<std::int64_t>(0, end - begin), config.block_size);
    begin = stated;
  }
  return blocks;
}

void resolve_cache(const RunRequest& request, RunSetting& setting) {
  ProblemConfig& config = setting.config;
  config.block_size = 128;
  if (!setting.paged()) return;
  const InputFile* const input = setting.input.get();
  Size block_size("block size");
  Size block_num("block count");
  block_size.give(request.block_size, "--block-size");
  block_num.give(request.block_num, "--block-num");
  if (const StoredTensor* const cache = input == nullptr ? nullptr : matrix(*input, TensorId::kv_cache, 4)) {
    block_num.give(cache->shape[0], in_file("kv_cache", *input));
    block_size.give(cache->shape[1], in_file("kv_cache", *input));
  }
  block_size.give_default(128);
  config.block_size = block_size.value();
  if (config.block_size < 1) throw UsageError("--block-size: must be at least 1");

  if (setting.by_block() && !config.batched) {
    const StoredTensor* const given = input == nullptr ? nullptr : input->find(TensorId::actual_seq_len);
    const std::vector<std::int64_t> own =
        request.sequence_ends.empty() ? std::vector{config.tokens} : request.sequence_ends;
    setting.actual_seq_len = given == nullptr ? own : input->integers(*given);
    for (const std::int64_t sum : setting.actual_seq_len) {
      if (sum < 0 || sum > std::numeric_limits<std::int32_t>::max()) {
        throw UsageError("actual_seq_len: " + std::to_string(sum) + " is no prefix sum of int32");
      }
    }
    config.sequences = static_cast<std::int64_t>(setting.actual_seq_len.size());
  }
  const std::int64_t blocks = blocks_needed(setting);
  if (const StoredTensor* const given = input == nullptr ? nullptr : input->find(TensorId::cache_index)) {
    setting.cache_index = input->integers(*given);
    const std::int64_t highest = setting.cache_index.empty() ? -1 : *std::ranges::max_element(setting.cache_index);
    // Where the cache's size is known, the operator judges the index, or does not read it at all.
    if (!block_num.known() && highest > kMostSlots) {
      input->fail(*given, "names slot " + std::to_string(highest) + ", no cache can hold it");
    }
    const std::int64_t last_block = setting.by_block() ? highest : highest < 0 ? -1 : highest / config.block_size;
    block_num.give_default(std::max(blocks, last_block + 1));
  } else {
    setting.cache_index.resize(static_cast<std::size_t>(setting.by_block() ? blocks : setting.tokens()));
    for (std::size_t i = 0; i < setting.cache_index.size(); ++i) setting.cache_index[i] = static_cast<std::int64_t>(i);
    block_num.give_default(blocks);
  }
  config.block_table_entries = static_cast<std::int64_t>(setting.cache_index.size());
  config.block_num = block_num.value();
}

void resolve_scenarios(const RunRequest& request, RunSetting& setting) {
  const auto profile = parse<Profile>(request.profile);
  if (!profile) throw UsageError("--profile " + request.profile + ": is unknown; there is: auto a2 950");
  setting.profile = *profile;
  if (!request.quant) {
    setting.scenarios.assign(all_scenarios().begin(), all_scenarios().end());
    for (const auto& [option, file] :
         {std::pair{"--output", request.output}, {"--save-inputs", request.save_inputs}, {"--trace", request.trace}}) {
      if (file) throw UsageError(std::string(option) + ": holds one scenario; choose it with --quant");
    }
    return;
  }
  const auto scenario = parse_scenario(*request.quant);
  if (!scenario) {
    std::string known;
    for (const ScenarioName& name : all_scenarios()) known.append(" ").append(name.text());
    throw UsageError("--quant " + *request.quant + ": is unknown; there is:" + known);
  }
  setting.scenarios = {*scenario};
  if (request.smooth && !scenario->takes_smooth_scales()) {
    throw UsageError("--smooth: scenario " + scenario->text() + " takes no smooth_scales_cq");
  }
}

}  // namespace

bool RunSetting::paged() const noexcept {
  return config.cache_mode != CacheMode::bsnd && config.cache_mode != CacheMode::tnd;
}

bool RunSetting::by_block() const noexcept {
  return config.cache_mode == CacheMode::pa_blk_bsnd || config.cache_mode == CacheMode::pa_blk_nz;
}

std::vector<std::int64_t> RunSetting::lead() const {
  if (config.batched) return {config.batch, config.seq};
  return {config.tokens};
}

RunSetting resolve(const RunRequest& request) {
  RunSetting setting;
  resolve_scenarios(request, setting);
  const auto cache_mode = parse<CacheMode>(request.cache_mode);
  if (!cache_mode) {
    throw UsageError("--cache-mode " + request.cache_mode +
                     ": is unknown; there is: PA_BSND PA_NZ PA_BLK_BSND PA_BLK_NZ BSND TND");
  }
  setting.config.cache_mode = *cache_mode;
  setting.config.query_norm = request.query_norm;
  if (request.checkpoint) {
    if (request.model) throw UsageError("--model: conflicts with --checkpoint, which gives the dims");
    constexpr std::int64_t kUsualNopeDim = 128;
    setting.checkpoint =
        std::make_unique<Checkpoint>(CheckpointPlace{*request.checkpoint, request.layer.value_or(0), request.sublayer},
                                     request.nope_dim.value_or(kUsualNopeDim));
  } else if (request.layer || request.sublayer) {
    throw UsageError(std::string(request.layer ? "--layer" : "--sublayer") + ": needs --checkpoint");
  }
  if (request.input) setting.input = std::make_unique<InputFile>(*request.input);
  resolve_dims(request, setting);
  resolve_tokens(request, setting);
  require_memory_for_tokens(setting);
  resolve_cache(request, setting);

  setting.source = request.checkpoint ? "checkpoint " + *request.checkpoint : request.model.value_or("deepseek-v3");
  if (setting.checkpoint != nullptr && setting.checkpoint->config()) {
    const ModelConfig& model = *setting.checkpoint->config();
    setting.rope = model.rope;
    setting.eps_cq = model.rms_norm_eps.value_or(setting.eps_cq);
    setting.eps_ckv = model.rms_norm_eps.value_or(setting.eps_ckv);
  }
  setting.eps_cq = request.eps_cq.value_or(setting.eps_cq);
  setting.eps_ckv = request.eps_ckv.value_or(setting.eps_ckv);
  return setting;
}

}  // namespace mla_prolog::tools
