// convert: every element where the layout's formula puts it, and back.
#include <numeric>

#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog::test;
using mla_prolog::tools::SafetensorsFile;
using mla_prolog::tools::StorageType;

namespace {

template <typename T>
std::vector<T> counting(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i * 7 + i / 256);
  return values;
}

// (K, N) 48 x 64: three fractals high, two or four wide.
std::string write_input(const TempDir& dir) {
  const std::string path = dir / "in.safetensors";
  write_tensors(path, {tensor("w16", StorageType::bf16, {48, 64}, counting<std::uint16_t>(48 * 64)),
                       tensor("scale", StorageType::f32, {1, 64}, std::vector<float>(64, 1.5F)),
                       tensor("w8", StorageType::u8, {48, 64}, counting<std::uint8_t>(48 * 64)),
                       tensor("odd", StorageType::i8, {3, 5}, counting<std::int8_t>(15))});
  return path;
}

}  // namespace

TEST_CASE("convert to nz puts every element where it belongs and keeps what is no such matrix") {
  const TempDir dir;
  const std::string in = write_input(dir);
  const std::string out = dir / "out.safetensors";
  const CliResult result = cli({"convert", in, out, "--to", "nz"});
  REQUIRE(result.code == 0);
  const SafetensorsFile file(out);
  REQUIRE(file.tensors().size() == 4);
  CHECK(file.find("w16")->shape == std::vector<std::int64_t>{4, 3, 16, 16});
  CHECK(file.find("w8")->shape == std::vector<std::int64_t>{2, 3, 16, 32});
  CHECK(file.find("scale")->shape == std::vector<std::int64_t>{1, 64});
  CHECK(file.find("odd")->shape == std::vector<std::int64_t>{3, 5});
  const auto w16 = values<std::uint16_t>(*file.find("w16"));
  const auto w8 = values<std::uint8_t>(*file.find("w8"));
  const auto nd16 = counting<std::uint16_t>(48 * 64);
  const auto nd8 = counting<std::uint8_t>(48 * 64);
  bool equal = true;
  for (std::size_t k = 0; k < 48; ++k) {
    for (std::size_t n = 0; n < 64; ++n) {
      equal = equal && w16[((n / 16 * 3 + k / 16) * 16 + k % 16) * 16 + n % 16] == nd16[k * 64 + n];
      equal = equal && w8[((n / 32 * 3 + k / 16) * 16 + k % 16) * 32 + n % 32] == nd8[k * 64 + n];
    }
  }
  CHECK(equal);
}

TEST_CASE("convert there and back gives the same file, also in place") {
  const TempDir dir;
  const std::string path = write_input(dir);
  const std::string before = read_file(path);
  REQUIRE(cli({"convert", path, path, "--to", "nz"}).code == 0);
  CHECK(read_file(path) != before);
  REQUIRE(cli({"convert", path, path, "--to", "nd"}).code == 0);
  CHECK(read_file(path) == before);
}

TEST_CASE("convert keeps the file's metadata") {
  const TempDir dir;
  const std::string in = dir / "in.safetensors";
  const std::string out = dir / "out.safetensors";
  const std::vector<std::uint8_t> data(32 * 32);
  const mla_prolog::tools::Metadata metadata{{"format", "pt"}, {"say \"x\"", "line\n2"}};
  const std::vector<mla_prolog::tools::TensorToStore> tensors = {
      {"w", StorageType::u8, {32, 32}, std::as_bytes(std::span(data))}};
  mla_prolog::tools::write_safetensors(in, tensors, metadata);
  CHECK(SafetensorsFile(in).metadata() == metadata);
  REQUIRE(cli({"convert", in, out, "--to", "nz"}).code == 0);
  CHECK(SafetensorsFile(out).metadata() == metadata);
  CHECK(SafetensorsFile(out).find("w")->shape == std::vector<std::int64_t>{1, 2, 16, 32});
}

TEST_CASE("convert takes single tensors by name, before or after the files") {
  const TempDir dir;
  const std::string in = write_input(dir);
  const std::string out = dir / "out.safetensors";
  REQUIRE(cli({"convert", "--tensor", "w8", in, out, "--to", "nz"}).code == 0);
  CHECK(SafetensorsFile(out).find("w8")->shape.size() == 4);
  CHECK(SafetensorsFile(out).find("w16")->shape.size() == 2);
  const CliResult result = cli({"convert", in, out, "--to", "nz", "--tensor", "w8", "--tensor", "w16", "--json"});
  REQUIRE(result.code == 0);
  CHECK(SafetensorsFile(out).find("w16")->shape.size() == 4);
  CHECK(result.json()["tensors"][0]["name"] == "w16");
  CHECK(result.json()["tensors"][0]["converted"] == true);
  CHECK(result.json()["tensors"][3]["converted"] == false);
}

TEST_CASE("convert refuses what it cannot do and leaves the output alone") {
  const TempDir dir;
  const std::string in = write_input(dir);
  const std::string out = dir / "out.safetensors";
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"convert", in, out, "--to", "nz", "--tensor", "absent"}, "has no tensor \"absent\""},
      {{"convert", in, out, "--to", "nz", "--tensor", "odd"}, "multiple of 16"},
      {{"convert", in, out, "--to", "nz", "--tensor", "scale"}, "F32 has no FRACTAL_NZ form"},
      {{"convert", in, out, "--to", "nd", "--tensor", "w8"}, "is not (N/32, K/16, 16, 32)"},
      {{"convert", dir / "absent", out, "--to", "nz"}, "cannot open"},
      {{"convert", in, dir.path().string(), "--to", "nz"}, "is a directory"},
      {{"convert", in, dir / "no/such/folder", "--to", "nz"}, "cannot write"},
      {{"convert", in, out, "--to", "xy"}, "--to"},
      {{"convert", in, out}, "--to is required"},
      {{"convert", in}, "output is required"},
  };
  for (const auto& [arguments, cause] : wrong) {
    const CliResult result = cli(arguments);
    INFO(cause << " gives " << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, cause));
    CHECK_FALSE(std::filesystem::exists(out));
  }
}
