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
      {"", "not JSON"},
      {"{\"cases\": [", "not JSON"},
      {"\xff\xfe\n\n", "not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "no \"cases\""},
      {R"({"cases": {}})", "not an array"},
      {R"({"cases": [7]})", "not a JSON object"},
      {R"({"cases": [{}]})", "no \"id\""},
      {R"({"cases": [{"id": 4}]})", "not a string"},
      {R"({"cases": [{"id": "a\nb"}]})", "not printable"},
      {R"({"cases": [{"id": "a", "soc": "310P"}]})", "unknown soc 310P"},
      {R"({"cases": [{"id": "a", "soc": "a2"}]})", "no \"inputs\""},
      {one_case(R"("token_y": null)", ""), "unknown tensor token_y"},
      {one_case(R"("query": null)", ""), "unknown tensor query"},
      {one_case(R"("token_x": 3)", ""), "not a JSON object"},
      {one_case(R"("token_x": {"shape": [1], "format": "ND"})", ""), "no \"dtype\""},
      {one_case(R"("token_x": {"shape": [1], "dtype": "BF17", "format": "ND"})", ""), "unknown dtype BF17"},
      {one_case(R"("token_x": {"shape": [1], "dtype": "BF16", "format": "NZ"})", ""), "unknown format NZ"},
      {one_case(R"("token_x": {"shape": 1, "dtype": "BF16", "format": "ND"})", ""), "not an array"},
      {one_case(R"("token_x": {"shape": [1.5], "dtype": "BF16", "format": "ND"})", ""), "not a 64-bit integer"},
      {one_case(R"("token_x": {"shape": [9223372036854775808], "dtype": "BF16", "format": "ND"})", ""),
       "not a 64-bit integer"},
      {one_case("", R"("cache_mode": 1)"), "not a string"},
      {one_case("", R"("tile_size": 128.0)"), "not a 64-bit integer"},
      {one_case("", R"("kc_scale": "1")"), "not a number"},
      {one_case("", R"("query_norm": 1)"), "unknown attribute query_norm"},
      {one_case("", "", R"(, "expected_status": "0")"), "not a 64-bit integer"},
      {one_case("", "", R"(, "expected_workspace": -1)"), "negative"},
      {std::string(100000, '['), "not JSON"},
  };
  for (const auto& [json, text] : wrong) {
    const std::string found = cause(json);
    INFO(json.substr(0, 200) << " gives " << found);
    CHECK(found.find(text) != std::string::npos);
    CHECK(found.find('\n') == std::string::npos);
    CHECK(found.size() < 300);
  }
  CHECK_THROWS_WITH(tools::read_validation_cases(data_dir()), "is a directory");
  CHECK_THROWS_WITH(tools::read_validation_cases(data_dir() / "no such file"), "cannot be opened");
}
