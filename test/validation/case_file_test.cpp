// The reader of phase-one case files: what it makes of a case, and one line for what it cannot read.
#include <stdexcept>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"
#include "tools/cases/validation_case.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

std::string one_case(const std::string& inputs, const std::string& attributes, const std::string& rest = "") {
  return R"({"cases": [{"id": "c", "soc": "950", "inputs": {)" + inputs + R"(}, "outputs": {}, "attrs": {)" +
         attributes + "}" + rest + "}]}";
}

std::string cause(const std::string& json) {
  try {
    tools::parse_validation_cases(json);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a case file's tensors, attributes and expectations") {
  const auto cases = tools::parse_validation_cases(one_case(
      R"("token_x": {"shape": [0, -3], "dtype": "FLOAT6_E3M2", "format": "FRACTAL_NZ_C0_16"}, "rope_sin": null)",
      R"("cache_mode": null, "tile_size": -9223372036854775808, "kc_scale": 2)",
      R"(, "expected_status": -1, "expected_workspace": null)"));
  REQUIRE(cases.size() == 1);
  CHECK(cases[0].id == "c");
  CHECK(cases[0].soc == Soc::ascend950);
  CHECK(cases[0].problem.token_x == TensorDesc::dense(DType::float6_e3m2, {0, -3}, Format::fractal_nz_c0_16));
  CHECK_FALSE(cases[0].problem.rope_sin.present());
  CHECK_FALSE(cases[0].problem.query.present());
  CHECK(cases[0].problem.attributes.cache_mode == "PA_BSND");
  CHECK(cases[0].problem.attributes.tile_size == INT64_MIN);
  CHECK(cases[0].problem.attributes.kc_scale == 2.0);
  CHECK(cases[0].expected_status == -1);
  CHECK_FALSE(cases[0].expected_workspace.has_value());
  CHECK(tools::parse_validation_cases(R"({"cases": []})").empty());
}

TEST_CASE("a case file that cannot be read has a one-line cause") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "invalid JSON"},
      {"{\"cases\": [", "invalid JSON"},
      {"\xff\xfe\n\n", "invalid JSON"},
      {R"({"cases": [], "cases": []})", "duplicate key \"cases\""},
      {"[]", "document: must be an object, is array"},
      {"{}", "has no member \"cases\""},
      {R"({"cases": {}})", "cases: must be an array, is object"},
      {R"({"cases": [7]})", "cases[0]: must be an object, is number"},
      {R"({"cases": [{}]})", "has no member \"id\""},
      {R"({"cases": [{"id": 4}]})", "cases[0].id: must be a string, is number"},
      {R"({"cases": [{"id": "a\nb"}]})", "printable characters"},
      {R"({"cases": [{"id": "a", "soc": "310P"}]})", "unknown soc \"310P\""},
      {R"({"cases": [{"id": "a", "soc": "a2"}]})", "has no member \"inputs\""},
      {one_case(R"("token_y": null)", ""), "inputs.token_y: is no input"},
      {one_case(R"("query": null)", ""), "inputs.query: is no input"},
      {one_case(R"("token_x": 3)", ""), "inputs.token_x: must be an object"},
      {one_case(R"("token_x": {"shape": [1], "format": "ND"})", ""), "has no member \"dtype\""},
      {one_case(R"("token_x": {"shape": [1], "dtype": "BF17", "format": "ND"})", ""), "unknown dtype \"BF17\""},
      {one_case(R"("token_x": {"shape": [1], "dtype": "BF16", "format": "NZ"})", ""), "unknown format \"NZ\""},
      {one_case(R"("token_x": {"shape": 1, "dtype": "BF16", "format": "ND"})", ""), "shape: must be an array"},
      {one_case(R"("token_x": {"shape": [1.5], "dtype": "BF16", "format": "ND"})", ""), "shape[0]: must be an integer"},
      {one_case(R"("token_x": {"shape": [9223372036854775808], "dtype": "BF16", "format": "ND"})", ""),
       "is 9223372036854775808, must lie in"},
      {one_case("", R"("cache_mode": 1)"), "attrs.cache_mode: must be a string"},
      {one_case("", R"("tile_size": 128.0)"), "attrs.tile_size: must be an integer"},
      {one_case("", R"("kc_scale": "1")"), "attrs.kc_scale: must be a number"},
      {one_case("", R"("query_norm": 1)"), "attrs.query_norm: is no attribute"},
      {one_case("", "", R"(, "expected_status": "0")"), "expected_status: must be an integer"},
      {one_case("", "", R"(, "expected_workspace": -1)"), "must be a non-negative integer, is -1"},
      {std::string(100000, '['), "levels deep"},
  };
  for (const auto& [json, text] : wrong) {
    const std::string found = cause(json);
    INFO(json.substr(0, 200) << " gives " << found);
    CHECK(found.find(text) != std::string::npos);
    CHECK(found.find('\n') == std::string::npos);
    CHECK(found.size() < 300);
  }
  CHECK_THROWS_WITH(tools::read_validation_cases(data_dir()), data_dir().string() + ": is a directory, not a file");
  const std::string absent = (data_dir() / "no such file").string();
  CHECK_THROWS_WITH(tools::read_validation_cases(absent), absent + ": cannot open: No such file or directory");
}
