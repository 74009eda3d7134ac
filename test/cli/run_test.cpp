// run: scenarios, files in and out, what it reports.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "test/catch.hpp"
#include "test/cli/small_runs.hpp"

using namespace mla_prolog::test;
using mla_prolog::tools::SafetensorsFile;
using mla_prolog::tools::StorageType;
using nlohmann::json;

namespace {

const std::vector<std::string> kScenarios = {"w0kv0", "w1kv0", "w1kv2", "w1kv3", "w2kv0", "w2kv1", "w2kv3", "w3kv0",
                                             "w3kv1", "w3kv3", "w4kv0", "w4kv1", "w4kv3", "w5kv0", "w5kv1", "w5kv3"};

}  // namespace

TEST_CASE("run without --quant runs all scenarios in turn and agrees with the reference") {
  const CliResult result = cli(small_run({"--tokens", "3", "--json", "--smooth", "--query-norm"}));
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  const json document = result.json();
  REQUIRE(document["scenarios"].size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const json& scenario = document["scenarios"][i];
    CHECK(scenario["scenario"] == kScenarios[i]);
    CHECK(scenario["reference"]["equal"] == true);
    CHECK(scenario["reference"]["tokens"] == 3);
    CHECK(scenario["repeats"] == 1);
    CHECK(scenario["median_seconds"].get<double>() > 0.0);
    std::set<std::string> outputs;
    for (const json& output : scenario["outputs"]) outputs.insert(output["name"].get<std::string>());
    CHECK(outputs.count("query") == 1);
    CHECK(outputs.count("query_norm") == 1);
    CHECK(outputs.count("kr_cache") == (kScenarios[i].substr(2) == "kv3" ? 0 : 1));
  }
  const CliResult text = cli(small_run({"--tokens", "3", "--quant", "w2kv1"}));
  CHECK(text.code == 0);
  CHECK(text.out.find("scenario w2kv1: T 3, He 64, Hcq 128, N 2, D 32; profile a2") != std::string::npos);
  CHECK(text.out.find("reference: 3 tokens, equal") != std::string::npos);
}

TEST_CASE("saved inputs give the same outputs again, in every scenario") {
  for (const std::string& scenario : kScenarios) {
    const TempDir dir;
    const std::string inputs = dir / "in.safetensors";
    const CliResult first =
        cli(small_run({"--quant", scenario, "--tokens", "5", "--query-norm", "--positions", "40", "--save-inputs",
                       inputs, "--output", dir / "a.safetensors", "--seed", "9", "--json"}));
    INFO(scenario << ' ' << first.err);
    REQUIRE(first.code == 0);
    const CliResult second = cli(given_run(
        {"--quant", scenario, "--query-norm", "--input", inputs, "--output", dir / "b.safetensors", "--json"}));
    INFO(second.err);
    REQUIRE(second.code == 0);
    CHECK(read_file(dir / "a.safetensors") == read_file(dir / "b.safetensors"));
    CHECK(first.json()["scenarios"][0]["outputs"] == second.json()["scenarios"][0]["outputs"]);
  }
}

TEST_CASE("the number of threads and the instruction set change nothing") {
  for (const std::string scenario : {"w0kv0", "w2kv1", "w3kv3"}) {
    const auto outputs = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"--quant", scenario, "--tokens", "4", "--json"});
      const CliResult result = cli(small_run(more));
      INFO(result.err);
      REQUIRE(result.code == 0);
      return result.json()["scenarios"][0]["outputs"];
    };
    const json expected = outputs({"--threads", "1"});
    CHECK(outputs({"--threads", "3"}) == expected);
    CHECK(outputs({"--isa", "scalar"}) == expected);
    CHECK(outputs({"--backend", "reference"}) == expected);
    CHECK(outputs({"--seed", "2"}) != expected);
  }
}

TEST_CASE("fast runs are judged by their bounds, not to the bit") {
  for (const std::string scenario : {"w0kv0", "w1kv0", "w1kv2", "w1kv3", "w2kv1"}) {
    const std::vector<std::string> options{"run", "--he",       "1024", "--hcq",    "512",   "--heads",
                                           "4",   "--repeat",   "1",    "--tokens", "64",    "--reference-tokens",
                                           "64",  "--numerics", "fast", "--quant",  scenario};
    const CliResult text = cli(options);
    INFO(scenario << ' ' << text.err << text.out);
    if (text.code == 2 && text.err.find("numerics fast: ") != std::string::npos) {
      MLA_PROLOG_SKIP("no matmuls for numerics fast in this build or on this CPU");
    }
    CHECK(text.code == 0);
    const bool equal = text.out.find("reference: 64 tokens, equal") != std::string::npos;
    CHECK(equal != (text.out.find("reference: 64 tokens, within the bounds of fast: ") != std::string::npos));
    std::vector<std::string> as_json = options;
    as_json.emplace_back("--json");
    const json reference = cli(as_json).json()["scenarios"][0]["reference"];
    CHECK(reference["equal"] == equal);
    CHECK(reference["within_bounds"] == true);
    std::size_t different = 0;
    for (const json& tensor : reference["distances"]) different += tensor["different"].get<std::size_t>();
    CHECK((different == 0) == equal);
  }
}

TEST_CASE("all cache modes and both token layouts run; defaults address what they say") {
  const TempDir dir;
  const std::string inputs = dir / "in.safetensors";
  struct Layout {
    std::string mode;
    std::vector<std::string> tokens;
    std::vector<std::int64_t> cache;
    std::vector<std::int64_t> index_shape;
    std::vector<std::int64_t> index;
  };
  std::vector<std::int64_t> counted(21);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::int64_t>(i);
  const std::vector<std::string> flat{"--tokens", "21"};
  const std::vector<std::string> batched{"--batch", "3", "--seq", "7"};
  const std::vector<Layout> layouts = {
      {"PA_BSND", flat, {2, 16, 1, 512}, {21}, counted},
      {"PA_BSND", batched, {2, 16, 1, 512}, {3, 7}, counted},
      {"PA_NZ", flat, {2, 16, 1, 512}, {21}, counted},
      {"PA_BLK_BSND", flat, {2, 16, 1, 512}, {2}, {0, 1}},
      {"PA_BLK_NZ", batched, {3, 16, 1, 512}, {3, 1}, {0, 1, 2}},
      {"BSND", batched, {3, 7, 1, 512}, {}, {}},
      {"TND", flat, {21, 1, 512}, {}, {}},
  };
  for (const Layout& layout : layouts) {
    std::vector<std::string> arguments{"--quant", "w2kv1",         "--cache-mode", layout.mode, "--block-size",
                                       "16",      "--save-inputs", inputs,         "--json"};
    arguments.insert(arguments.end(), layout.tokens.begin(), layout.tokens.end());
    const CliResult result = cli(small_run(arguments));
    INFO(layout.mode << ' ' << result.err);
    REQUIRE(result.code == 0);
    CHECK(result.json()["scenarios"][0]["reference"]["tokens"] == 8);
    CHECK(result.json()["scenarios"][0]["reference"]["equal"] == true);
    const SafetensorsFile file(inputs);
    CHECK(file.find("kv_cache")->shape == layout.cache);
    for (const std::byte byte : file.find("kv_cache")->bytes) REQUIRE(byte == std::byte{0});
    REQUIRE((file.find("cache_index") != nullptr) == !layout.index.empty());
    if (!layout.index.empty()) {
      CHECK(file.find("cache_index")->shape == layout.index_shape);
      CHECK(values<std::int64_t>(*file.find("cache_index")) == layout.index);
    }
    const bool fused_table = layout.mode.rfind("PA_BLK", 0) == 0 && layout.tokens == flat;
    REQUIRE((file.find("actual_seq_len") != nullptr) == fused_table);
    if (fused_table) CHECK(values<std::int32_t>(*file.find("actual_seq_len")) == std::vector<std::int32_t>{21});
  }
}

TEST_CASE("tensors of --input replace the generated ones") {
  const TempDir dir;
  const std::string inputs = dir / "in.safetensors";
  const std::string saved = dir / "saved.safetensors";
  std::vector<float> x(2 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 60.0F;
  write_tensors(inputs, {tensor("token_x", StorageType::f32, {2, 64}, x),
                         tensor("quant_scale_ckv", StorageType::f32, {1}, std::vector<float>{3.5F}),
                         tensor("dequant_scale_w_dq", StorageType::f32, {1, 128}, std::vector<float>(128, 0.25F)),
                         tensor("cache_index", StorageType::i64, {2}, std::vector<std::int64_t>{5, -1})});
  REQUIRE(cli(small_run({"--quant", "w2kv1", "--input", inputs, "--save-inputs", saved})).code == 0);
  const SafetensorsFile file(saved);
  CHECK(file.find("token_x")->shape == std::vector<std::int64_t>{2, 64});
  CHECK(values<float>(*file.find("quant_scale_ckv")) == std::vector<float>{3.5F});
  CHECK(values<std::int64_t>(*file.find("cache_index")) == std::vector<std::int64_t>{5, -1});
  CHECK(values<float>(*file.find("dequant_scale_x"))[1] == 67.0F / 127.0F);
  CHECK(values<std::int8_t>(*file.find("token_x"))[64] == std::nearbyint(4.0F * (127.0F / 67.0F)));

  // Given scales are used for the codes.
  REQUIRE(cli(small_run({"--quant", "w0kv0", "--save-inputs", dir / "float.safetensors"})).code == 0);
  const auto weight = floats_of(*SafetensorsFile(dir / "float.safetensors").find("weight_dq"));
  const auto codes = values<std::int8_t>(*file.find("weight_dq"));
  for (std::size_t i = 0; i < weight.size(); ++i) {
    REQUIRE(codes[i] == std::clamp(std::nearbyint(weight[i] / 0.25F), -128.0F, 127.0F));
  }
}

TEST_CASE("codes without their scale are used, with a warning that names both") {
  const TempDir dir;
  const std::string in = dir / "in.safetensors";
  const auto x = tensor("token_x", StorageType::i8, {2, 64}, std::vector<std::int8_t>(128, 3));
  const auto scale = tensor("dequant_scale_x", StorageType::f32, {2, 1}, std::vector<float>(2, 0.5F));
  const auto weight = tensor("weight_dq", StorageType::i8, {64, 128}, std::vector<std::int8_t>(64 * 128, 1));
  write_tensors(in, {x, scale, weight});
  const CliResult result = cli(small_run({"--quant", "w2kv1", "--input", in}));
  CHECK(result.code == 0);
  CHECK(result.err == "warning: --input " + in +
                          ": tensor \"weight_dq\" holds codes, but tensor \"dequant_scale_w_dq\", their scale, is "
                          "missing: that of other data is used\n");
  write_tensors(in, {x, scale});
  CHECK(cli(small_run({"--quant", "w2kv1", "--input", in})).err.empty());
  write_tensors(in, {x});
  const std::string err = cli(small_run({"--quant", "w2kv1", "--input", in})).err;
  CHECK(err.find("tensor \"token_x\" holds codes, but tensor \"dequant_scale_x\"") != std::string::npos);
}

TEST_CASE("--input in conflict with options or with the operator is exit 2") {
  const TempDir dir;
  const std::string in = dir / "in.safetensors";
  const auto x = [](const std::vector<std::int64_t>& shape) {
    std::size_t count = 1;
    for (const auto dim : shape) count *= static_cast<std::size_t>(dim);
    return tensor("token_x", StorageType::bf16, shape, std::vector<std::uint16_t>(count));
  };
  const auto refused = [&](const std::vector<OwnedTensor>& tensors, std::vector<std::string> arguments,
                           const std::string& cause) {
    write_tensors(in, tensors);
    arguments.insert(arguments.end(), {"--input", in});
    const CliResult result = cli(small_run(arguments));
    INFO(cause << " gives " << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, cause));
  };
  const std::string one = "w2kv1";
  refused({x({3, 64})}, {"--tokens", "4"}, "tokens 3 conflicts with 4 of --tokens");
  refused({x({2, 3, 64})}, {"--tokens", "6"}, "--tokens: conflicts with token_x");
  refused({x({3, 64})}, {"--batch", "1", "--seq", "3"}, "--batch, --seq: conflicts with token_x");
  refused({x({2, 3, 64})}, {"--batch", "3", "--seq", "2"}, "conflicts with");
  refused({x({3, 32})}, {}, "hidden size 32 conflicts with 64 of --he");
  refused({x({64})}, {}, "must have 2 or 3 dimensions");
  refused({tensor("weight_uk", StorageType::bf16, {4, 32, 512}, std::vector<std::uint16_t>(4 * 32 * 512))}, {},
          "heads (of this rank) 4 conflicts with 2 of --heads");
  refused({tensor("kv_cache", StorageType::i8, {1, 16, 1, 512}, std::vector<std::int8_t>(16 * 512))},
          {"--quant", one, "--block-size", "32"}, "block size 16 conflicts with 32 of --block-size");
  refused({tensor("kv_cache", StorageType::bf16, {1, 16, 1, 512}, std::vector<std::uint16_t>(16 * 512))},
          {"--quant", one}, "is stored as BF16, this scenario needs INT8");
  refused({tensor("token_x", StorageType::i8, {2, 64}, std::vector<std::int8_t>(128))}, {"--quant", "w0kv0"},
          "is stored as I8, this scenario needs BF16");
  refused({tensor("query", StorageType::bf16, {1}, std::vector<std::uint16_t>(1))}, {}, "is no input of the operator");
  refused({tensor("bogus", StorageType::bf16, {1}, std::vector<std::uint16_t>(1))}, {}, "is no input of the operator");
  refused({tensor("quant_scale_ckv", StorageType::f32, {1}, std::vector<float>{1})}, {"--quant", "w2kv0"},
          "is not used by scenario w2kv0");
  refused({tensor("quant_scale_ckv", StorageType::f32, {2}, std::vector<float>{1, 1})}, {"--quant", one},
          "has shape [2], must be [1]");
  refused({tensor("k_nope_clip_alpha", StorageType::f32, {1}, std::vector<float>{1})},
          {"--quant", "w1kv3", "--k-nope-clip-alpha", "2"}, "--k-nope-clip-alpha: conflicts");
  refused({tensor("cache_index", StorageType::i64, {8}, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 700})},
          {"--quant", one, "--block-num", "2"}, "700");
  refused({tensor("cache_index", StorageType::i64, {2}, std::vector<std::int64_t>{0, 1})}, {"--quant", one},
          "has shape [2], must be [8]");
  refused({tensor("cache_index", StorageType::f32, {8}, std::vector<float>(8))}, {"--quant", one},
          "must be I64 or I32");
  refused({tensor("cache_index", StorageType::i64, {8}, std::vector<std::int64_t>(8, INT64_MAX))}, {"--quant", one},
          "no cache can hold it");
}

TEST_CASE("default block tables hold the tokens beyond the last prefix sum") {
  const TempDir dir;
  const std::string in = dir / "in.safetensors";
  const std::string saved = dir / "saved.safetensors";
  const auto entries = [&](const std::vector<std::int32_t>& sums) {
    write_tensors(in, {tensor("actual_seq_len", StorageType::i32, {static_cast<std::int64_t>(sums.size())}, sums)});
    const CliResult result =
        cli(small_run({"--quant", "w0kv0", "--cache-mode", "PA_BLK_BSND", "--block-size", "4", "--tokens", "12",
                       "--input", in, "--save-inputs", saved, "--reference-tokens", "12"}));
    INFO(result.err << result.out);
    REQUIRE(result.code == 0);
    CHECK(result.out.find("reference: 12 tokens, equal") != std::string::npos);
    return values<std::int64_t>(*SafetensorsFile(saved).find("cache_index")).size();
  };
  CHECK(entries({3, 5}) == 1 + 3);  // the last sequence has tokens 3 to 11
  CHECK(entries({3, 12}) == 1 + 3);
  CHECK(entries({12, 12}) == 3);
}

TEST_CASE("indices into a cache without blocks are not read") {
  const TempDir dir;
  const std::string in = dir / "in.safetensors";
  const std::vector<std::int64_t> indices(8, std::int64_t{1} << 50);
  write_tensors(in, {tensor("cache_index", StorageType::i64, {8}, indices)});
  const CliResult unread = cli(small_run({"--quant", "w2kv1", "--block-num", "0", "--input", in}));
  INFO(unread.err);
  CHECK(unread.code == 0);
  CHECK(unread.out.find("reference: 8 tokens, equal") != std::string::npos);
  const CliResult read = cli(small_run({"--quant", "w2kv1", "--block-num", "2", "--input", in}));
  CHECK(read.code == 2);
  CHECK(is_error_line(read, "1125899906842624"));
}

TEST_CASE("outputs are stored as the golden cases have them") {
  const TempDir dir;
  const std::string out = dir / "out.safetensors";
  REQUIRE(cli(small_run({"--quant", "w3kv1", "--query-norm", "--batch", "2", "--seq", "2", "--output", out})).code ==
          0);
  const SafetensorsFile file(out);
  const auto is = [&](const std::string& name, StorageType type, const std::vector<std::int64_t>& shape) {
    const auto* const found = file.find(name);
    return found != nullptr && found->type == type && found->shape == shape;
  };
  CHECK(file.tensors().size() == 7);
  CHECK(is("query", StorageType::u8, {2, 2, 2, 512}));
  CHECK(is("query_rope", StorageType::bf16, {2, 2, 2, 64}));
  CHECK(is("dequant_scale_q_nope", StorageType::f32, {4, 2, 1}));
  CHECK(is("query_norm", StorageType::u8, {2, 2, 128}));
  CHECK(is("dequant_scale_q_norm", StorageType::u8, {4, 4}));
  CHECK(is("kv_cache", StorageType::u8, {1, 128, 1, 512}));
  CHECK(is("kr_cache", StorageType::bf16, {1, 128, 1, 64}));
}

TEST_CASE("digests are the checksum of the golden cases") {
  const TempDir dir;
  const std::string out = dir / "out.safetensors";
  const CliResult result = cli(small_run({"--quant", "w0kv0", "--tokens", "1", "--output", out, "--json"}));
  REQUIRE(result.code == 0);
  const SafetensorsFile file(out);
  const json report = result.json();
  for (const json& output : report["scenarios"][0]["outputs"]) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    const auto& bytes = file.find(output["name"].get<std::string>())->bytes;
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
      hash = (hash ^ word) * 0x100000001B3U;
    }
    CHECK(std::stoull(output["digest"].get<std::string>(), nullptr, 16) == hash);
  }
}
