// run --checkpoint: tiny synthetic models in every supported storage, read back through --save-inputs and compared with
// what the numbers of the checkpoint are by definition.
#include <cmath>
#include <functional>

#include "test/catch.hpp"
#include "test/cli/tiny_model.hpp"

using namespace mla_prolog::test;
using mla_prolog::tools::SafetensorsFile;
using mla_prolog::tools::StorageType;
using nlohmann::json;

namespace {

json config() {
  return {{"hidden_size", kHe},     {"q_lora_rank", kHcq},   {"kv_lora_rank", 512},    {"num_attention_heads", kHeads},
          {"qk_nope_head_dim", kD}, {"v_head_dim", kV},      {"qk_rope_head_dim", 64}, {"num_hidden_layers", 4},
          {"rms_norm_eps", 3e-6},   {"rope_theta", 50000.0}, {"rope_scaling", nullptr}};
}

const std::string kPrefix = "model.layers.3.self_attn.";

std::vector<std::string> run_of(const std::string& checkpoint, std::vector<std::string> more) {
  std::vector<std::string> arguments{"run", "--checkpoint", checkpoint, "--layer", "3", "--repeat",
                                     "1",   "--tokens",     "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

bool is_bf16_of(const std::vector<std::uint16_t>& codes, std::size_t i, float number) {
  return codes[i] == bf16_of(number);
}

// Every element of every weight, for the first `heads` heads.
void check_weights(const std::string& saved, const Model& model, std::size_t heads) {
  const SafetensorsFile file(saved);
  bool right = true;
  const auto dq = values<std::uint16_t>(*file.find("weight_dq"));
  REQUIRE(dq.size() == kHe * kHcq);
  for (std::size_t k = 0; k < kHe; ++k) {
    for (std::size_t n = 0; n < kHcq; ++n) right = right && is_bf16_of(dq, k * kHcq + n, model["q_a_proj"].at(n, k));
  }
  CHECK(right);
  const auto uq = values<std::uint16_t>(*file.find("weight_uq_qr"));
  const std::size_t columns = heads * (kD + 64);
  REQUIRE(uq.size() == kHcq * columns);
  for (std::size_t k = 0; k < kHcq; ++k) {
    for (std::size_t n = 0; n < columns; ++n) right = right && is_bf16_of(uq, k * columns + n, model["q_b"].at(n, k));
  }
  CHECK(right);
  const auto dkv = values<std::uint16_t>(*file.find("weight_dkv_kr"));
  for (std::size_t k = 0; k < kHe; ++k) {
    for (std::size_t n = 0; n < 576; ++n) right = right && is_bf16_of(dkv, k * 576 + n, model["kv_a_proj"].at(n, k));
  }
  CHECK(right);
  const auto uk = values<std::uint16_t>(*file.find("weight_uk"));
  REQUIRE(uk.size() == heads * kD * 512);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t d = 0; d < kD; ++d) {
      for (std::size_t c = 0; c < 512; ++c) {
        right = right && is_bf16_of(uk, (h * kD + d) * 512 + c, model["kv_b"].at(h * (kD + kV) + d, c));
      }
    }
  }
  CHECK(right);
  const auto cq = values<std::uint16_t>(*file.find("rmsnorm_gamma_cq"));
  const auto ckv = values<std::uint16_t>(*file.find("rmsnorm_gamma_ckv"));
  for (std::size_t i = 0; i < kHcq; ++i) right = right && is_bf16_of(cq, i, model["q_a_layernorm"].numbers[i]);
  for (std::size_t i = 0; i < 512; ++i) right = right && is_bf16_of(ckv, i, model["kv_a_layernorm"].numbers[i]);
  CHECK(right);
}

}  // namespace

TEST_CASE("a model directory gives weights, dims and epsilon in every storage") {
  for (const std::string storage : {"bf16", "f16", "f32", "fp8"}) {
    const TempDir dir;
    const Model model(storage, kPrefix);
    std::vector<OwnedTensor> tensors = model.tensors();
    // What is not used may be of a type that the operator does not have.
    tensors.push_back(tensor("experts.scale", StorageType::f8_e8m0, {3}, std::vector<std::uint8_t>(3)));
    tensors.push_back(tensor("experts.weight", StorageType::f4, {2, 4}, std::vector<std::uint8_t>(4)));
    write_tensors(dir / "model.safetensors", tensors);
    json settings = config();
    if (storage == "fp8") {
      settings["quantization_config"] = {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {128, 128}}};
    }
    dir.write("config.json", settings.dump());
    const std::string saved = dir / "saved";
    const CliResult result = cli(run_of(dir.path().string(), {"--quant", "w0kv0", "--save-inputs", saved, "--json"}));
    INFO(storage << ' ' << result.err);
    REQUIRE(result.code == 0);
    check_weights(saved, model, kHeads);
    const json document = result.json();
    CHECK(document["dims"]["he"] == kHe);
    CHECK(document["dims"]["hcq"] == kHcq);
    CHECK(document["dims"]["heads"] == kHeads);
    CHECK(document["dims"]["nope_dim"] == kD);
    CHECK(document["rmsnorm_epsilon_cq"] == 3e-6);
    CHECK(document["rmsnorm_epsilon_ckv"] == 3e-6);
    CHECK(document["scenarios"][0]["reference"]["equal"] == true);

    REQUIRE(cli(run_of(dir.path().string(), {"--quant", "w0kv0", "--tp", "2", "--save-inputs", saved})).code == 0);
    check_weights(saved, model, kHeads / 2);
    const json shared =
        cli(run_of(dir.path().string(), {"--quant", "w2kv1", "--tp", "4", "--eps-cq", "1e-4", "--json"})).json();
    CHECK(shared["dims"]["heads"] == 1);
    CHECK(shared["rmsnorm_epsilon_cq"] == 1e-4);
    CHECK(shared["rmsnorm_epsilon_ckv"] == 3e-6);
  }
}

TEST_CASE("shards are found through the index") {
  const TempDir dir;
  const Model model("fp8", kPrefix);
  std::vector<std::vector<OwnedTensor>> shards(2);
  json map;
  std::size_t next = 0;
  for (const OwnedTensor& tensor : model.tensors()) {  // a weight and its scales in different files
    map[tensor.name] = "part" + std::to_string(next % 2) + ".safetensors";
    shards[next++ % 2].push_back(tensor);
  }
  write_tensors(dir / "part0.safetensors", shards[0]);
  write_tensors(dir / "part1.safetensors", shards[1]);
  dir.write("config.json", config().dump());
  dir.write("model.safetensors.index.json", json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  const std::string saved = dir / "saved";
  const CliResult result = cli(run_of(dir.path().string(), {"--quant", "w0kv0", "--save-inputs", saved}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  check_weights(saved, model, kHeads);

  SECTION("a shard that is missing") {
    std::filesystem::remove(dir / "part1.safetensors");
    const CliResult missing = cli(run_of(dir.path().string(), {"--quant", "w0kv0"}));
    CHECK(missing.code == 2);
    CHECK(is_error_line(missing, "part1.safetensors: cannot open"));
  }
  SECTION("a shard that does not hold what the index says") {
    shards[1].pop_back();
    write_tensors(dir / "part1.safetensors", shards[1]);
    const CliResult missing = cli(run_of(dir.path().string(), {"--quant", "w0kv0"}));
    CHECK(missing.code == 2);
    CHECK(is_error_line(missing, "part1.safetensors: tensor \"" + kPrefix));
    CHECK(is_error_line(missing, "is missing"));
  }
  SECTION("an index that leads out of the directory") {
    for (const std::string name : {"../part0.safetensors", "/part0.safetensors", ""}) {
      map[kPrefix + "q_a_proj.weight"] = name;
      dir.write("model.safetensors.index.json", json{{"weight_map", map}}.dump());
      const CliResult outside = cli(run_of(dir.path().string(), {"--quant", "w0kv0"}));
      CHECK(outside.code == 2);
      CHECK(is_error_line(outside, "outside the model's directory"));
    }
  }
  SECTION("an index that is empty or no index") {
    for (const std::string text : {"{\"weight_map\": {}}", "{}", "[]", "{"}) {
      dir.write("model.safetensors.index.json", text);
      const CliResult wrong = cli(run_of(dir.path().string(), {"--quant", "w0kv0"}));
      CHECK(wrong.code == 2);
      CHECK(wrong.err.rfind("ERROR " + dir.path().string(), 0) == 0);
    }
  }
}

TEST_CASE("one safetensors file gives the dims by its shapes") {
  const TempDir dir;
  const Model model("bf16", kPrefix);
  const std::string file = dir / "layer.safetensors";
  write_tensors(file, model.tensors());
  const std::string saved = dir / "saved";
  const CliResult result =
      cli(run_of(file, {"--quant", "w0kv0", "--nope-dim", "32", "--save-inputs", saved, "--json"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  check_weights(saved, model, kHeads);
  CHECK(result.json()["rmsnorm_epsilon_cq"] == 1e-5);
  const CliResult other = cli(run_of(file, {"--quant", "w0kv0", "--nope-dim", "48"}));
  CHECK(other.code == 2);
  CHECK(is_error_line(other, "no multiple of 112"));
}

TEST_CASE("LongCat layers have two attentions") {
  const TempDir dir;
  std::vector<OwnedTensor> all;
  std::vector<Model> models;
  for (const std::string sublayer : {"0", "1"}) {
    models.emplace_back("bf16", kPrefix + sublayer + ".");
    if (sublayer == "1") models.back().random.seed(4);
    for (const OwnedTensor& tensor : models.back().tensors()) all.push_back(tensor);
  }
  write_tensors(dir / "model.safetensors", all);
  dir.write("config.json", config().dump());
  const std::string saved = dir / "saved";
  for (const int sublayer : {0, 1}) {
    REQUIRE(cli(run_of(dir.path().string(),
                       {"--quant", "w0kv0", "--sublayer", std::to_string(sublayer), "--save-inputs", saved}))
                .code == 0);
    check_weights(saved, models[static_cast<std::size_t>(sublayer)], kHeads);
  }
  const CliResult none = cli(run_of(dir.path().string(), {"--quant", "w0kv0"}));
  CHECK(none.code == 2);
  CHECK(is_error_line(none, "choose one with --sublayer"));
}

TEST_CASE("RoPE comes from config.json, plain and YaRN, under either key") {
  const TempDir dir;
  write_tensors(dir / "model.safetensors", Model("bf16", kPrefix).tensors());
  const std::string saved = dir / "saved";
  const double factor = 40;
  const double original = 4096;
  const double pi = 3.14159265358979323846;
  const auto plain = [](double theta, std::size_t i) { return std::pow(theta, -static_cast<double>(i) / 32); };
  const auto yarn = [&](double theta, std::size_t i) {
    const auto correction = [&](double rotations) {
      return 64 * std::log(original / (rotations * 2 * pi)) / (2 * std::log(theta));
    };
    const double low = std::max(std::floor(correction(32)), 0.0);
    const double high = std::min(std::ceil(correction(1)), 63.0);
    const double ramp = std::min(std::max((static_cast<double>(i) - low) / (high - low), 0.0), 1.0);
    return plain(theta, i) / factor * ramp + plain(theta, i) * (1 - ramp);
  };
  const double mscale = (0.1 * 1.0 * std::log(factor) + 1) / (0.1 * 0.5 * std::log(factor) + 1);
  const json scaling = {{"type", "yarn"},       {"factor", factor}, {"original_max_position_embeddings", original},
                        {"beta_fast", 32},      {"beta_slow", 1},   {"mscale", 1.0},
                        {"mscale_all_dim", 0.5}};
  const auto check_tables = [&](const json& settings, const std::function<double(std::size_t)>& frequency,
                                double scale) {
    dir.write("config.json", settings.dump());
    const CliResult result =
        cli(run_of(dir.path().string(), {"--quant", "w0kv0", "--positions", "3000", "--save-inputs", saved}));
    INFO(result.err);
    REQUIRE(result.code == 0);
    const SafetensorsFile file(saved);
    const auto sin = values<std::uint16_t>(*file.find("rope_sin"));
    const auto cos = values<std::uint16_t>(*file.find("rope_cos"));
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t j = 0; j < 64; ++j) {
        const double angle = (3000.0 + static_cast<double>(t)) * frequency(j % 32);
        INFO(t << ' ' << j);
        REQUIRE(std::fabs(double{of_bf16(sin[t * 64 + j])} - scale * std::sin(angle)) < 0.006);
        REQUIRE(std::fabs(double{of_bf16(cos[t * 64 + j])} - scale * std::cos(angle)) < 0.006);
      }
    }
  };
  json settings = config();
  check_tables(
      settings, [&](std::size_t i) { return plain(50000, i); }, 1);
  settings["rope_theta"] = 10000;
  settings["rope_scaling"] = scaling;
  check_tables(
      settings, [&](std::size_t i) { return yarn(10000, i); }, mscale);
  settings.erase("rope_theta");
  settings.erase("rope_scaling");
  settings["rope_parameters"] = scaling;
  settings["rope_parameters"].erase("type");
  settings["rope_parameters"]["rope_type"] = "yarn";
  settings["rope_parameters"]["rope_theta"] = 20000.0;
  check_tables(
      settings, [&](std::size_t i) { return yarn(20000, i); }, mscale);
}

TEST_CASE("checkpoints that are wrong or of another kind are refused by name") {
  struct Wrong {
    std::string cause;
    std::function<void(json& settings, std::vector<OwnedTensor>& tensors)> make;
    std::vector<std::string> arguments;
  };
  const auto find = [](std::vector<OwnedTensor>& tensors, const std::string& end) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const OwnedTensor& tensor) { return tensor.name == kPrefix + end; });
  };
  const auto quantised_by = [](const std::string& method) {
    return [method](json& settings, std::vector<OwnedTensor>&) {
      settings["quantization_config"] = {{"quant_method", method}, {"bits", 4}};
    };
  };
  const std::vector<Wrong> all = {
      {"quantisation \"gptq\" is not supported", quantised_by("gptq"), {}},
      {"quantisation \"awq\" is not supported", quantised_by("awq"), {}},
      {"blocks of [128, 128]",
       [](json& settings, auto&) {
         settings["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {64, 64}}};
       },
       {}},
      {"q_a_proj.qweight of a quantised format",
       [&](json&, auto& tensors) { find(tensors, "q_a_proj.weight")->name = kPrefix + "q_a_proj.qweight"; },
       {}},
      {"q_b_proj.weight_packed of a quantised format",
       [&](json&, auto& tensors) { find(tensors, "q_b_proj.weight")->name = kPrefix + "q_b_proj.weight_packed"; },
       {}},
      {"kv_b_proj.weight_scale, which is not supported",
       [&](json&, auto& tensors) {
         auto scale = find(tensors, "kv_b_proj.weight_scale_inv");
         scale->name = kPrefix + "kv_b_proj.weight_scale";
       },
       {}},
      {"q_b_proj.weight_scale_inv\" is missing",
       [&](json&, auto& tensors) { tensors.erase(find(tensors, "q_b_proj.weight_scale_inv")); },
       {}},
      {"q_b_proj.weight_scale_inv\" is F32 [2, 3]",
       [&](json&, auto& tensors) {
         find(tensors, "q_b_proj.weight_scale_inv")->shape = {2, 3};
       },
       {}},
      {"q_a_proj.weight\" is stored as I8",
       [&](json&, auto& tensors) { find(tensors, "q_a_proj.weight")->type = StorageType::i8; },
       {}},
      {"q_a_proj.weight\" is stored as F8_E5M2",
       [&](json&, auto& tensors) { find(tensors, "q_a_proj.weight")->type = StorageType::f8_e5m2; },
       {}},
      {"q_a_proj.weight\" is stored as F8_E8M0",
       [&](json&, auto& tensors) { find(tensors, "q_a_proj.weight")->type = StorageType::f8_e8m0; },
       {}},
      {"q_a_layernorm.weight\" is missing",
       [&](json&, auto& tensors) { tensors.erase(find(tensors, "q_a_layernorm.weight")); },
       {}},
      {"q_a_proj.weight\" has shape [160, 192], must be [192, 160]",
       [&](json&, auto& tensors) {
         find(tensors, "q_a_proj.weight")->shape = {160, 192};
       },
       {}},
      {"q_lora_rank: is null", [](json& settings, auto&) { settings["q_lora_rank"] = nullptr; }, {}},
      {"has no member \"hidden_size\"", [](json& settings, auto&) { settings.erase("hidden_size"); }, {}},
      {"kv_lora_rank: is 256", [](json& settings, auto&) { settings["kv_lora_rank"] = 256; }, {}},
      {"attention_bias: is true", [](json& settings, auto&) { settings["attention_bias"] = true; }, {}},
      {"RoPE of type \"linear\"",
       [](json& settings, auto&) {
         settings["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
       },
       {}},
      {"config.json: rope_theta: is 0, must be a float32 number above 1",
       [](json& settings, auto&) { settings["rope_theta"] = 0; },
       {}},
      {"config.json: rope_parameters.rope_theta: is -5",
       [](json& settings, auto&) {
         settings["rope_parameters"] = {{"rope_theta", -5}};
       },
       {}},
      {"config.json: rope_theta: is 1e+40", [](json& settings, auto&) { settings["rope_theta"] = 1e40; }, {}},
      {"config.json: rope_scaling.factor: is 0, must be a float32 number above 0",
       [](json& settings, auto&) {
         settings["rope_scaling"] = {{"type", "yarn"}, {"factor", 0}};
       },
       {}},
      {"config.json: rope_scaling.original_max_position_embeddings: is -1",
       [](json& settings, auto&) {
         settings["rope_scaling"] = {{"type", "yarn"}, {"factor", 2}, {"original_max_position_embeddings", -1}};
       },
       {}},
      {"hidden size", [](json&, auto&) {}, {"--he", "512"}},
      {"--heads 2: conflicts with 4", [](json&, auto&) {}, {"--heads", "2"}},
      {"--tp 3: does not divide 4 heads", [](json&, auto&) {}, {"--tp", "3"}},
      {"model.layers.2.self_attn.", [](json&, auto&) {}, {"--layer", "2"}},
      {"model.layers.3.self_attn.1.", [](json&, auto&) {}, {"--sublayer", "1"}},
  };
  for (const Wrong& wrong : all) {
    const TempDir dir;
    json settings = config();
    std::vector<OwnedTensor> tensors = Model("fp8", kPrefix).tensors();
    wrong.make(settings, tensors);
    write_tensors(dir / "model.safetensors", tensors);
    dir.write("config.json", settings.dump());
    std::vector<std::string> arguments{"run", "--checkpoint", dir.path().string(), "--quant", "w0kv0", "--tokens", "1"};
    const bool layer_given = !wrong.arguments.empty() && wrong.arguments[0] == "--layer";
    if (!layer_given) arguments.insert(arguments.end(), {"--layer", "3"});
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const CliResult result = cli(arguments);
    INFO(wrong.cause << " gives " << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, wrong.cause));
  }
}
