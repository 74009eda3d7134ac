// run: what it generates and quantises. Expected values are computed here from the files.
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

TEST_CASE("quantised weights and tokens follow the rules from the float ones") {
  const TempDir dir;
  const std::string path = dir / "in.safetensors";
  const auto inputs_of = [&](const std::string& scenario) {
    REQUIRE(cli(small_run({"--quant", scenario, "--tokens", "4", "--save-inputs", path})).code == 0);
  };
  inputs_of("w0kv0");
  const SafetensorsFile floats(path);
  const auto weight = floats_of(*floats.find("weight_dq"));
  const auto x = floats_of(*floats.find("token_x"));
  REQUIRE(weight.size() == 64 * 128);
  double squares = 0.0;
  for (const float w : weight) squares += double{w} * w;
  CHECK(close(std::sqrt(squares / static_cast<double>(weight.size())), 1.0 / 8, 0.05));  // 1/sqrt(He)

  SECTION("int8: amax / 127 per column, nearest even; tokens per token") {
    inputs_of("w2kv0");
    const SafetensorsFile file(path);
    const auto codes = values<std::int8_t>(*file.find("weight_dq"));
    const auto scales = values<float>(*file.find("dequant_scale_w_dq"));
    bool right = true;
    for (std::size_t n = 0; n < 128; ++n) {
      float amax = 0.0F;
      for (std::size_t k = 0; k < 64; ++k) amax = std::max(amax, std::fabs(weight[k * 128 + n]));
      right = right && scales[n] == amax / 127.0F;
      for (std::size_t k = 0; k < 64; ++k) {
        right = right && codes[k * 128 + n] == static_cast<int>(std::nearbyint(weight[k * 128 + n] / scales[n]));
      }
    }
    CHECK(right);
    const auto x_codes = values<std::int8_t>(*file.find("token_x"));
    const auto x_scales = values<float>(*file.find("dequant_scale_x"));
    CHECK(file.find("dequant_scale_x")->shape == std::vector<std::int64_t>{4, 1});
    for (std::size_t t = 0; t < 4; ++t) {
      float amax = 0.0F;
      for (std::size_t k = 0; k < 64; ++k) amax = std::max(amax, std::fabs(x[t * 64 + k]));
      CHECK(x_scales[t] == amax / 127.0F);
      const float reciprocal = 127.0F / amax;
      for (std::size_t k = 0; k < 64; ++k) {
        right = right && x_codes[t * 64 + k] == static_cast<int>(std::nearbyint(x[t * 64 + k] * reciprocal));
      }
    }
    CHECK(right);
  }
  SECTION("MX: the block's largest exponent less 8") {
    inputs_of("w3kv0");
    const SafetensorsFile file(path);
    CHECK(file.find("dequant_scale_w_dq")->shape == std::vector<std::int64_t>{128, 2});
    CHECK(file.find("dequant_scale_x")->shape == std::vector<std::int64_t>{4, 2});
    const auto scales = values<std::uint8_t>(*file.find("dequant_scale_w_dq"));
    const auto x_scales = values<std::uint8_t>(*file.find("dequant_scale_x"));
    const auto exponent = [](float v) { return v == 0.0F ? 0 : std::ilogb(v) + 127; };
    bool right = true;
    for (std::size_t block = 0; block < 2; ++block) {
      for (std::size_t n = 0; n < 128; ++n) {
        int most = 0;
        for (std::size_t k = 0; k < 32; ++k) most = std::max(most, exponent(weight[(block * 32 + k) * 128 + n]));
        right = right && scales[n * 2 + block] == std::max(most, 8) - 8;
      }
      for (std::size_t t = 0; t < 4; ++t) {
        int most = 0;
        for (std::size_t k = 0; k < 32; ++k) most = std::max(most, exponent(x[t * 64 + block * 32 + k]));
        right = right && x_scales[t * 2 + block] == std::max(most, 8) - 8;
      }
    }
    CHECK(right);
  }
  SECTION("e4m3 and hif8: amax / 448 and amax / 32768") {
    for (const auto& [scenario, largest] : {std::pair{"w4kv0", 448.0F}, {"w5kv0", 32768.0F}}) {
      inputs_of(scenario);
      const auto scales = values<float>(*SafetensorsFile(path).find("dequant_scale_w_dq"));
      for (std::size_t n = 0; n < 128; ++n) {
        float amax = 0.0F;
        for (std::size_t k = 0; k < 64; ++k) amax = std::max(amax, std::fabs(weight[k * 128 + n]));
        REQUIRE(scales[n] == amax / largest);
      }
    }
  }
}

TEST_CASE("the cache's scales are MAX / amax over the run's tokens") {
  const TempDir dir;
  const std::string inputs = dir / "in.safetensors";
  const std::string outputs = dir / "out.safetensors";
  // The same latent rows, unquantised but rounded to bf16: within 2^-8 of what the scale was taken from.
  const std::vector<std::string> common{"--tokens", "6", "--kc-scale", "1.5"};
  const auto run = [&](const std::string& scenario) {
    std::vector<std::string> arguments{"--quant", scenario, "--save-inputs", inputs, "--output", outputs};
    arguments.insert(arguments.end(), common.begin(), common.end());
    REQUIRE(cli(small_run(arguments)).code == 0);
  };
  for (const auto& [plain, quantised, largest] :
       {std::tuple{"w2kv0", "w2kv1", 127.0}, {"w3kv0", "w3kv1", 448.0}, {"w5kv0", "w5kv1", 32768.0}}) {
    run(plain);
    double amax = 0.0;
    for (const float c : floats_of(*SafetensorsFile(outputs).find("kv_cache")))
      amax = std::max(amax, std::fabs(double{c}));
    run(quantised);
    const auto scale = values<float>(*SafetensorsFile(inputs).find("quant_scale_ckv"));
    REQUIRE(scale.size() == 1);
    INFO(quantised);
    CHECK(close(double{scale[0]}, largest / amax, 1.0 / 256));
  }
  run("w2kv1");  // the extreme value takes the extreme code
  int most = 0;
  for (const std::int8_t code : values<std::int8_t>(*SafetensorsFile(outputs).find("kv_cache"))) {
    most = std::max(most, std::abs(int{code}));
  }
  CHECK(most == 127);

  run("w1kv0");
  const SafetensorsFile plain(outputs);
  const auto c = floats_of(*plain.find("kv_cache"));
  const auto r = floats_of(*plain.find("kr_cache"));
  run("w1kv2");
  const SafetensorsFile file(inputs);
  const auto ckv = values<float>(*file.find("quant_scale_ckv"));
  const auto ckr = values<float>(*file.find("quant_scale_ckr"));
  REQUIRE(ckv.size() == 512);
  REQUIRE(ckr.size() == 64);
  for (std::size_t j = 0; j < 512; ++j) {
    float amax = 0.0F;
    for (std::size_t t = 0; t < 6; ++t) amax = std::max(amax, std::fabs(c[t * 512 + j]));
    REQUIRE(close(double{ckv[j]}, 127.0 / double{amax}, 1.0 / 256));
  }
  for (std::size_t j = 0; j < 64; ++j) {  // k^R is rounded to bf16 before it is scaled, so this is exact
    float amax = 0.0F;
    for (std::size_t t = 0; t < 6; ++t) amax = std::max(amax, std::fabs(r[t * 64 + j]));
    REQUIRE(ckr[j] == 127.0F / amax);
  }
}

TEST_CASE("positions: token t at P+t, or s at P+s within each sequence") {
  const TempDir dir;
  const std::string inputs = dir / "in.safetensors";
  const auto check_tables = [&](const std::vector<std::string>& arguments, const std::vector<int>& positions) {
    std::vector<std::string> all{"--quant", "w0kv0", "--save-inputs", inputs};
    all.insert(all.end(), arguments.begin(), arguments.end());
    REQUIRE(cli(small_run(all)).code == 0);
    const SafetensorsFile file(inputs);
    const auto sin = floats_of(*file.find("rope_sin"));
    const auto cos = floats_of(*file.find("rope_cos"));
    REQUIRE(sin.size() == positions.size() * 64);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      for (std::size_t j = 0; j < 64; ++j) {
        const double angle = positions[t] * std::pow(10000.0, -static_cast<double>(j % 32) / 32);
        REQUIRE(std::fabs(double{sin[t * 64 + j]} - std::sin(angle)) < 0.005);
        REQUIRE(std::fabs(double{cos[t * 64 + j]} - std::cos(angle)) < 0.005);
      }
    }
  };
  check_tables({"--tokens", "3"}, {0, 1, 2});
  check_tables({"--tokens", "3", "--positions", "100"}, {100, 101, 102});
  check_tables({"--batch", "2", "--seq", "2", "--positions", "7"}, {7, 8, 7, 8});
}
