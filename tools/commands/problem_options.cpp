#include "tools/commands/problem_options.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace mla_prolog::tools {
namespace {

constexpr std::int64_t kLargestDim = std::int64_t{1} << 24;

// CLI11 wraps "-1" and takes the largest number for a larger one.
std::string unsigned_64_bit(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? "" : "must be a number from 0 to 2^64 - 1";
}

std::string finite(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && std::isfinite(static_cast<float>(value)) ? ""
                                                                                         : "must be a finite float32";
}

}  // namespace

void add_problem_options(CLI::App& app, RunRequest& request) {
  const CLI::Range dims(std::int64_t{1}, kLargestDim);
  const CLI::Range counts(std::int64_t{0}, kMostTokens);
  app.add_option("--model", request.model, "deepseek-v3 (default), deepseek-v3.2, kimi-k2, longcat-flash: dims only");
  app.add_option("--he", request.he, "hidden size")->check(dims);
  app.add_option("--hcq", request.hcq, "q-lora rank")->check(dims);
  app.add_option("--heads", request.heads, "heads of all ranks")->check(dims);
  app.add_option("--nope-dim", request.nope_dim, "head dim without RoPE")->check(dims);
  app.add_option("--tp", request.tp, "tensor-parallel ranks; the heads of rank 0 run")->check(dims);
  app.add_option("--tokens", request.tokens, "2-D tokens (default 8)")->check(counts);
  app.add_option("--batch", request.batch, "3-D tokens: batch")->check(counts);
  app.add_option("--seq", request.seq, "3-D tokens: sequence length")->check(counts);
  app.add_option("--quant", request.quant, "scenario, as w2kv1; default: all 16 in turn");
  app.add_option("--profile", request.profile, "auto, a2, 950")->capture_default_str();
  app.add_option("--cache-mode", request.cache_mode, "PA_BSND PA_NZ PA_BLK_BSND PA_BLK_NZ BSND TND")
      ->capture_default_str();
  app.add_option("--block-size", request.block_size, "tokens per cache block (default 128)")->check(counts);
  app.add_option("--block-num", request.block_num, "cache blocks (default: just enough)")->check(counts);
  app.add_option("--eps-cq", request.eps_cq, "RmsNorm epsilon of c^Q (default: the checkpoint's, or 1e-5)")
      ->check(finite);
  app.add_option("--eps-ckv", request.eps_ckv, "RmsNorm epsilon of c^KV (default: the checkpoint's, or 1e-5)")
      ->check(finite);
  app.add_option("--qc-qr-scale", request.qc_qr_scale, "factor of the normalised c^Q (default 1)")->check(finite);
  app.add_option("--kc-scale", request.kc_scale, "factor of the normalised c^KV (default 1)")->check(finite);
  app.add_option("--k-nope-clip-alpha", request.k_nope_clip_alpha, "clip factor of per-tile int8 caches (default 1)")
      ->check(finite);
  app.add_flag("--smooth", request.smooth, "give smooth_scales_cq where the scenario takes it");
  app.add_flag("--query-norm", request.query_norm, "produce query_norm and its scale");
  app.add_option("--seed", request.seed, "of everything generated (default 1)")->check(unsigned_64_bit);
  app.add_option("--positions", request.positions, "position of the first token (default 0)")->check(counts);
  app.add_option("--checkpoint", request.checkpoint, "Hugging Face model directory, or a safetensors file");
  app.add_option("--layer", request.layer, "layer of the checkpoint (default 0)")
      ->check(CLI::Range(std::int64_t{0}, kLargestDim));
  app.add_option("--sublayer", request.sublayer, "attention of a layer that has several: 0 or 1")
      ->check(CLI::Range(0, 1));
  app.add_option("--input", request.input, "safetensors file; its tensors replace the generated ones");
}

}  // namespace mla_prolog::tools
