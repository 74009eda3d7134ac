// verify: exact lines, exit codes, and every way a case can be wrong. The made-up case has no tokens, so what is
// expected is known without any arithmetic: the caches stay as they were generated.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>

#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;
using nlohmann::json;
using tools::StorageType;

namespace {

// The generator and the checksum as the format's description has them.
std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
  z = (z ^ z >> 27) * 0x94D049BB133111EBU;
  return z ^ z >> 31;
}

std::uint64_t fnv(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

std::string checksum(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < std::min<std::size_t>(8, bytes.size() - i); ++j) {
      word |= std::to_integer<std::uint64_t>(bytes[i + j]) << (8 * j);
    }
    hash = (hash ^ word) * 0x100000001B3U;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

constexpr std::uint64_t kSeed = 77;

std::vector<std::byte> generated_bf16(const std::string& name, std::size_t count, double lo, double hi) {
  std::uint64_t state = kSeed ^ fnv(name);
  std::vector<std::uint16_t> codes(count);
  for (auto& code : codes) {
    const double unit = static_cast<double>(splitmix(state) >> 11) / 9007199254740992.0;
    code = bf16_of(static_cast<float>(lo + (hi - lo) * unit));
  }
  const auto bytes = std::as_bytes(std::span(codes));
  return {bytes.begin(), bytes.end()};
}

// A case without tokens: N 1, D 16, He 32, Hcq 64, one block of 4 slots.
struct EmptyCase {
  json document;
  std::vector<OwnedTensor> expected;

  EmptyCase() {
    document = {{"name", "empty"},
                {"profile", "a2"},
                {"weight_quant_mode", 0},
                {"kv_cache_quant_mode", 0},
                {"query_quant_mode", 0},
                {"ckvkr_repo_mode", 0},
                {"quant_scale_repo_mode", 0},
                {"tile_size", 128},
                {"cache_mode", "PA_BSND"},
                {"rmsnorm_epsilon_cq", 1e-5},
                {"rmsnorm_epsilon_ckv", 1e-5},
                {"qc_qr_scale", 1.0},
                {"kc_scale", 1.0},
                {"seed", kSeed},
                {"zero_rows", json::array()},
                {"cache_index", json::array()},
                {"actual_seq_len", nullptr},
                {"k_nope_clip_alpha", nullptr}};
    input("token_x", {0, 32});
    input("weight_dq", {32, 64});
    input("weight_uq_qr", {64, 80});
    input("weight_uk", {1, 16, 512});
    input("weight_dkv_kr", {32, 576});
    input("rmsnorm_gamma_cq", {64});
    input("rmsnorm_gamma_ckv", {512});
    input("rope_sin", {0, 64});
    input("rope_cos", {0, 64});
    input("kv_cache", {1, 4, 1, 512});
    input("kr_cache", {1, 4, 1, 64});
    expected.push_back({"kr_cache", StorageType::bf16, {1, 4, 1, 64}, generated_bf16("kr_cache", 256, -1, 1)});
    expected.push_back({"kv_cache", StorageType::bf16, {1, 4, 1, 512}, generated_bf16("kv_cache", 2048, -1, 1)});
    expected.push_back({"query", StorageType::bf16, {0, 1, 512}, {}});
    expected.push_back({"query_rope", StorageType::bf16, {0, 1, 64}, {}});
  }

  void input(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::size_t count = 1;
    for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
    document["inputs"][name] = {{"storage", "BF16"},
                                {"shape", shape},
                                {"generator", {{"dtype", "bf16"}, {"lo", -1.0}, {"hi", 1.0}}},
                                {"checksum", checksum(generated_bf16(name, count, -1, 1))}};
  }

  std::string write(const TempDir& dir, const std::string& stem = "empty") const {
    write_tensors(dir / (stem + ".safetensors"), expected);
    return dir.write(stem + ".json", document.dump());
  }
};

}  // namespace

TEST_CASE("verify passes a right case and prints exactly its line") {
  const TempDir dir;
  const CliResult result = cli({"verify", EmptyCase().write(dir)});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const auto lines = result.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "PASS empty");
  CHECK(lines[1].rfind("summary:", 0) == 0);
}

TEST_CASE("verify names the first differing tensor of the file, its first element and the number of differences") {
  const TempDir dir;
  EmptyCase wrong;
  // Elements 5 and 9 of kr_cache, which stands first in the file though not in the operator's order.
  const auto element = [&](std::size_t i) {
    std::uint16_t code = 0;
    std::memcpy(&code, wrong.expected[0].data.data() + i * 2, 2);
    return code;
  };
  const std::uint16_t actual = element(5);
  const std::uint16_t stated = bf16_of(-2.5F);
  for (const std::size_t i : {std::size_t{5}, std::size_t{9}})
    std::memcpy(wrong.expected[0].data.data() + i * 2, &stated, 2);
  wrong.expected[1].data[0] ^= std::byte{1};
  char line[200];
  std::snprintf(line, sizeof line, "FAIL empty kr_cache index 5 expected -2.5 actual %.9g differences 2",
                static_cast<double>(of_bf16(actual)));
  const std::string file = wrong.write(dir);
  const CliResult result = cli({"verify", file});
  CHECK(result.code == 1);
  REQUIRE(result.lines().size() == 2);
  CHECK(result.lines()[0] == line);

  const json document = cli({"verify", file, "--json"}).json();
  CHECK(document["cases"][0]["status"] == "fail");
  CHECK(document["cases"][0]["tensor"] == "kr_cache");
  CHECK(document["cases"][0]["index"] == 5);
  CHECK(document["cases"][0]["differences"] == 2);
  CHECK(document["failed"] == 1);
}

TEST_CASE("verify reports what it cannot read and still runs the rest; 2 wins over 1") {
  const TempDir dir;
  EmptyCase differing;
  differing.expected[0].data[0] ^= std::byte{1};
  const std::string fail = differing.write(dir, "differing");
  const std::string pass = EmptyCase().write(dir);
  const CliResult result = cli({"verify", dir / "absent.json", fail, pass});
  CHECK(result.code == 2);
  CHECK(is_error_line(result, "absent.json: cannot open"));
  REQUIRE(result.lines().size() == 3);
  CHECK(result.lines()[0].rfind("FAIL empty kr_cache index 0 ", 0) == 0);
  CHECK(result.lines()[1] == "PASS empty");
  CHECK(result.lines()[2].rfind("summary:", 0) == 0);
}

TEST_CASE("verify goes on after a case that the chosen engine does not take") {
  const auto backends = list_backends();
  if (std::ranges::none_of(backends, [](const auto& b) { return b.backend == Backend::onednn && b.available; })) {
    MLA_PROLOG_SKIP("this build has no oneDNN, or none that can be used");
  }
  const auto golden = [](const std::string& name) { return (data_dir() / "golden" / (name + ".json")).string(); };
  // No scenario with floats has an exact matmul in oneDNN.
  const std::vector<std::string> files{golden("w2kv1_a2_tnd"), golden("w0kv0_a2_tnd"), golden("w2kv3_a2_tnd")};
  const CliResult first = cli({"verify", "--backend", "onednn", files[0]});
  if (first.code != 0) MLA_PROLOG_SKIP("oneDNN takes no int8 case here");
  const CliResult result = cli({"verify", "--backend", "onednn", files[0], files[1], files[2]});
  CHECK(result.code == 2);
  CHECK(is_error_line(result, "w0kv0_a2_tnd.json: backend onednn: "));
  REQUIRE(result.lines().size() == 3);
  CHECK(result.lines()[0] == "PASS w2kv1_a2_tnd");
  CHECK(result.lines()[1] == "PASS w2kv3_a2_tnd");
  CHECK(result.lines()[2].rfind("summary: 3 cases, 2 passed, 0 failed, 1 unreadable", 0) == 0);

  const json document = cli({"verify", "--backend", "onednn", files[0], files[1], files[2], "--json"}).json();
  CHECK(document["passed"] == 2);
  REQUIRE(document["errors"].size() == 1);
  CHECK(document["errors"][0]["file"] == files[1]);
}

TEST_CASE("every mistake in a case is one ERROR line and exit 2") {
  struct Mistake {
    std::string text;
    std::function<void(EmptyCase&)> make;
  };
  const std::vector<Mistake> mistakes = {
      {"inputs.weight_dq: generated data has checksum",
       [](EmptyCase& c) { c.document["inputs"]["weight_dq"]["checksum"] = "0123456789abcdef"; }},
      {"checksum: must be a hexadecimal", [](EmptyCase& c) { c.document["inputs"]["weight_dq"]["checksum"] = "xyz"; }},
      {"profile: unknown profile", [](EmptyCase& c) { c.document["profile"] = "a7"; }},
      {"has no member \"seed\"", [](EmptyCase& c) { c.document.erase("seed"); }},
      {"He: must be an integer", [](EmptyCase& c) { c.document["He"] = "many"; }},
      {"block_num: is -1", [](EmptyCase& c) { c.document["block_num"] = -1; }},
      {"fused_bs: must be true or false", [](EmptyCase& c) { c.document["fused_bs"] = 1; }},
      {"weight_quant_mode", [](EmptyCase& c) { c.document["weight_quant_mode"] = 9; }},
      {"weight_quant_mode: must be an integer", [](EmptyCase& c) { c.document["weight_quant_mode"] = "0"; }},
      {"cache_mode", [](EmptyCase& c) { c.document["cache_mode"] = "PA_XYZ"; }},
      {"unknown storage type", [](EmptyCase& c) { c.document["inputs"]["token_x"]["storage"] = "F4"; }},
      {"unknown generator dtype", [](EmptyCase& c) { c.document["inputs"]["token_x"]["generator"]["dtype"] = "f4"; }},
      {"of another size", [](EmptyCase& c) { c.document["inputs"]["weight_dq"]["generator"]["dtype"] = "f32"; }},
      {"lo is above hi", [](EmptyCase& c) { c.document["inputs"]["weight_dq"]["generator"]["lo"] = 5.0; }},
      {"no generator", [](EmptyCase& c) { c.document["inputs"]["weight_dq"].erase("generator"); }},
      {"overflows",
       [](EmptyCase& c) {
         c.document["inputs"]["weight_dq"]["shape"] = {1LL << 40, 1LL << 40};
       }},
      {"must lie in",
       [](EmptyCase& c) {
         c.document["inputs"]["weight_dq"]["shape"] = {-32, 64};
       }},
      {"FRACTAL_NZ",
       [](EmptyCase& c) {
         c.document["inputs"]["weight_dq"]["shape"] = {33, 64};
       }},
      {"inputs.weight_uk: is missing", [](EmptyCase& c) { c.document["inputs"].erase("weight_uk"); }},
      {"rope_sin", [](EmptyCase& c) { c.document["inputs"].erase("rope_sin"); }},
      {"is no generated input", [](EmptyCase& c) { c.input("bogus", {4}); }},
      {"cache_index: has 1 entries", [](EmptyCase& c) { c.document["cache_index"] = {3}; }},
      {"there is no token 3", [](EmptyCase& c) { c.document["zero_rows"] = {3}; }},
      {"must be one word", [](EmptyCase& c) { c.document["name"] = "a b"; }},
      {"tensor \"kv_cache\" is missing", [](EmptyCase& c) { c.expected.erase(c.expected.begin() + 1); }},
      {"tensor \"bogus\" is no output", [](EmptyCase& c) { c.expected[1].name = "bogus"; }},
      {"is not produced in this case", [](EmptyCase& c) { c.expected[2].name = "dequant_scale_q_nope"; }},
      {"tensor \"kv_cache\" is U16", [](EmptyCase& c) { c.expected[1].type = StorageType::u16; }},
      {"tensor \"kv_cache\" is BF16 [4, 1, 512]",
       [](EmptyCase& c) {
         c.expected[1].shape = {4, 1, 512};
       }},
  };
  for (const Mistake& mistake : mistakes) {
    const TempDir dir;
    EmptyCase wrong;
    mistake.make(wrong);
    const CliResult result = cli({"verify", wrong.write(dir)});
    INFO(mistake.text << " gives " << result.err << result.out);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, mistake.text));
    CHECK(is_error_line(result, dir.path().string()));
    REQUIRE(result.lines().size() == 1);
    CHECK(result.lines()[0].rfind("summary:", 0) == 0);
  }
}

TEST_CASE("broken files around a case are errors, not crashes") {
  const TempDir dir;
  const std::string file = EmptyCase().write(dir);
  const std::string tensors = dir / "empty.safetensors";
  const std::string whole = read_file(tensors);
  const std::string text = read_file(file);
  const auto expect_error = [&](const std::string& cause) {
    const CliResult result = cli({"verify", file});
    INFO(cause << " gives " << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, cause));
  };
  dir.write("empty.safetensors", whole.substr(0, whole.size() - 1));
  expect_error("truncated file?");
  dir.write("empty.safetensors", whole.substr(0, 5));
  expect_error("truncated");
  dir.write("empty.safetensors", "");
  expect_error("is empty");
  std::filesystem::remove(tensors);
  expect_error("empty.safetensors: cannot open");
  std::filesystem::create_directory(tensors);
  expect_error("is a directory");
  std::filesystem::remove(tensors);
  dir.write("empty.safetensors", whole);
  dir.write("empty.json", text.substr(0, text.size() / 2));
  expect_error("invalid JSON");
  dir.write("empty.json", "[]");
  expect_error("must be an object");
}

TEST_CASE("verify passes the golden cases") {
  std::filesystem::path folder = shared_dir() / "golden";
  if (!std::filesystem::exists(folder)) folder = data_dir() / "golden";
  std::vector<std::string> arguments{"verify"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") arguments.push_back(entry.path().string());
  }
  const CliResult result = cli(arguments);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const auto lines = result.lines();
  REQUIRE(lines.size() == arguments.size());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    CHECK(lines[i - 1] == "PASS " + std::filesystem::path(arguments[i]).stem().string());
  }
}
