// safetensors at the level of bytes: files written out by hand, and every way one can be wrong.
#include "tools/io/safetensors.hpp"

#include <cstring>
#include <vector>

#include "test/catch.hpp"
#include "tools/io/error.hpp"

using namespace mla_prolog::tools;

namespace {

std::vector<std::byte> file_of(const std::string& header, const std::string& data, std::uint64_t length) {
  std::string text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(length >> (8 * i) & 0xFF));
  text += header + data;
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<std::byte> file_of(const std::string& header, const std::string& data) {
  return file_of(header, data, header.size());
}

std::string cause_of(const std::vector<std::byte>& bytes) {
  try {
    const SafetensorsFile file(bytes, "F");
  } catch (const InputError& error) {
    CHECK(error.file() == "F");
    return error.cause();
  }
  return "no error";
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

}  // namespace

TEST_CASE("a file is read in the header's order") {
  const std::string header = R"({"__metadata__":{"k":"v"},"z":)" + entry("I16", "[2]", "[4,8]") + R"(,"a":)" +
                             entry("U8", "[2,2]", "[0,4]") + R"(,"e":)" + entry("F64", "[0,3]", "[8,8]") + "}  ";
  const auto bytes = file_of(header, std::string("abcd\x01\x00\xff\xff", 8));
  const SafetensorsFile file(bytes, "F");
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "z");
  CHECK(file.tensors()[1].name == "a");
  CHECK(file.tensors()[2].name == "e");
  CHECK(file.find("z")->type == StorageType::i16);
  CHECK(file.find("z")->shape == std::vector<std::int64_t>{2});
  CHECK(file.find("z")->bytes[2] == std::byte{0xff});
  CHECK(file.find("a")->bytes[0] == std::byte{'a'});
  CHECK(file.find("e")->bytes.empty());
  CHECK(file.find("q") == nullptr);
}

TEST_CASE("every dtype has its size") {
  const std::vector<std::pair<std::string, int>> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  for (const auto& [name, size] : sizes) {
    const std::string offsets = "[0," + std::to_string(3 * size) + "]";
    const auto bytes =
        file_of(R"({"t":)" + entry(name, "[3]", offsets) + "}", std::string(static_cast<std::size_t>(3 * size), 'x'));
    const SafetensorsFile file(bytes, "F");
    CHECK(to_string(file.tensors()[0].type) == name);
    CHECK(file.tensors()[0].elements() == 3);
  }
}

TEST_CASE("newer dtypes are known by their bits, so that a file with an unused one can be read") {
  struct Known {
    std::string name;
    int elements;
    int bytes;
  };
  for (const Known& known : {Known{"F4", 6, 3},
                             {"F6_E2M3", 4, 3},
                             {"F6_E3M2", 8, 6},
                             {"F8_E8M0", 3, 3},
                             {"F8_E4M3FNUZ", 3, 3},
                             {"F8_E5M2FNUZ", 3, 3},
                             {"C64", 3, 24}}) {
    INFO(known.name);
    const std::string shape = "[" + std::to_string(known.elements) + "]";
    const std::string rest = "[" + std::to_string(known.bytes) + "," + std::to_string(known.bytes + 1) + "]";
    const std::string header = R"({"odd":)" + entry(known.name, shape, "[0," + std::to_string(known.bytes) + "]") +
                               R"(,"used":)" + entry("U8", "[1]", rest) + "}";
    const auto bytes = file_of(header, std::string(static_cast<std::size_t>(known.bytes), 'x') + "y");
    const SafetensorsFile file(bytes, "F");
    CHECK(to_string(file.find("odd")->type) == known.name);
    CHECK(file.find("odd")->elements() == static_cast<std::size_t>(known.elements));
    CHECK(file.find("used")->bytes[0] == std::byte{'y'});
  }
  CHECK(cause_of(file_of(R"({"t":)" + entry("F4", "[3]", "[0,2]") + "}", "ab")) ==
        "t.shape: F4 [3] does not end with a whole byte");
}

TEST_CASE("wrong files are refused with their cause") {
  const auto one = [](const std::string& tensor) { return R"({"t":)" + tensor + "}"; };
  const std::string good = one(entry("U8", "[4]", "[0,4]"));
  CHECK(cause_of(file_of(good, "abcd")) == "no error");
  const std::vector<std::pair<std::vector<std::byte>, std::string>> wrong = {
      {{}, "truncated: 0 bytes"},
      {std::vector<std::byte>(7), "truncated: 7 bytes"},
      {file_of(good, "abcd", good.size() + 5), "truncated: header length"},
      {file_of(good, "abcd", UINT64_MAX), "exceeds the format's limit"},
      {file_of(good, "abcd", std::uint64_t{1} << 40), "exceeds the format's limit"},
      {file_of("", ""), "invalid JSON"},
      {file_of("[]", ""), "header is no JSON object"},
      {file_of("{\"a\":", ""), "invalid JSON"},
      {file_of("{\"\xff\": 1}", ""), "invalid JSON"},
      {file_of(R"({"t":)" + entry("U8", "[1]", "[0,1]") + R"(,"t":)" + entry("U8", "[1]", "[1,2]") + "}", "ab"),
       "duplicate key \"t\""},
      {file_of(good, "abc"), "t.data_offsets: end 4 lies beyond the file's 3 data bytes (truncated file?)"},
      {file_of(good, "abcde"), "1 bytes follow the last tensor"},
      {file_of(one(entry("U9", "[4]", "[0,4]")), "abcd"), "t.dtype: unknown dtype \"U9\""},
      {file_of(one(entry("F32", "[4]", "[0,4]")), "abcd"), "covers 4 bytes, F32 [4] needs 16"},
      {file_of(one(entry("U8", "[-4]", "[0,4]")), "abcd"), "t.shape[0]: is -4, must lie in"},
      {file_of(one(entry("U8", "[4.0]", "[0,4]")), "abcd"), "t.shape[0]: must be an integer"},
      {file_of(one(entry("U8", "4", "[0,4]")), "abcd"), "t.shape: must be an array"},
      {file_of(one(entry("F64", "[4611686018427387904,4]", "[0,4]")), "abcd"), "t.shape: size of"},
      {file_of(one(entry("U8", "[4]", "[4,0]")), "abcd"), "begin 4 is after end 0"},
      {file_of(one(entry("U8", "[4]", "[0,4,8]")), "abcd"), "must hold two numbers, holds 3"},
      {file_of(one(entry("U8", "[4]", "[-1,3]")), "abcd"), "t.data_offsets[0]: is -1"},
      {file_of(one(R"({"dtype":"U8","shape":[4]})"), "abcd"), "has no member \"data_offsets\""},
      {file_of(one("7"), "abcd"), "t: must be an object"},
      {file_of(R"({"__metadata__":{"a":1}})", ""), "__metadata__.a: must be a string"},
      {file_of(R"({"a":)" + entry("U8", "[4]", "[0,4]") + R"(,"b":)" + entry("U8", "[2]", "[3,5]") + "}", "abcde"),
       "overlaps another tensor's"},
      {file_of(R"({"a":)" + entry("U8", "[2]", "[0,2]") + R"(,"b":)" + entry("U8", "[2]", "[3,5]") + "}", "abcde"),
       "leaves a gap"},
      {file_of(R"({"a":)" + entry("U8", "[2]", "[1,3]") + "}", "abc"), "leaves a gap"},
  };
  for (const auto& [bytes, text] : wrong) {
    const std::string cause = cause_of(bytes);
    INFO(text << " against " << cause);
    CHECK(cause.find(text) != std::string::npos);
    CHECK(cause.find('\n') == std::string::npos);
  }
  // A product that overflows on the way to zero is zero.
  CHECK(cause_of(file_of(one(entry("F64", "[4611686018427387904,4611686018427387904,0]", "[0,0]")), "")) == "no error");
}

TEST_CASE("what is written is read back, bytes in order and header aligned") {
  const auto path = (std::filesystem::temp_directory_path() / "mla_prolog_safetensors_test").string();
  const std::vector<std::byte> first(6, std::byte{1});
  const std::vector<std::byte> second(8, std::byte{2});
  const std::vector<TensorToStore> tensors = {{"late \"name\"", StorageType::u16, {3}, first},
                                              {"early", StorageType::i64, {1, 1}, second},
                                              {"none", StorageType::f32, {0}, {}}};
  write_safetensors(path, tensors);
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 3);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(file.tensors()[i].name == tensors[i].name);
    CHECK(file.tensors()[i].type == tensors[i].type);
    CHECK(file.tensors()[i].shape == tensors[i].shape);
    CHECK(std::equal(file.tensors()[i].bytes.begin(), file.tensors()[i].bytes.end(), tensors[i].bytes.begin(),
                     tensors[i].bytes.end()));
  }
  const MappedFile raw(path);
  CHECK(std::to_integer<unsigned>(raw.bytes()[0]) % 8 == 0);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(SafetensorsFile(path), InputError);
}
