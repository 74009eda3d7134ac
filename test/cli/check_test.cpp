// check: one line a case, MISMATCH where an expectation differs, exit codes.
#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog::test;
using nlohmann::json;

namespace {

json committed_cases() { return json::parse(read_file((data_dir() / "cases" / "validation_v3.json").string())); }

// The first accepted and the first refused case.
json two_cases() {
  json accepted;
  json refused;
  const json cases = committed_cases()["cases"];
  for (const json& item : cases) {
    if (item["expected_status"] == 0 && accepted.is_null()) accepted = item;
    if (item["expected_status"] == 561002 && refused.is_null()) refused = item;
  }
  return json::array({accepted, refused});
}

std::string write_cases(const TempDir& dir, const json& cases) {
  return dir.write("cases.json", json{{"cases", cases}}.dump());
}

}  // namespace

TEST_CASE("check agrees with the case table") {
  const CliResult result = cli({"check", (data_dir() / "cases" / "validation_v3.json").string()});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const json cases = committed_cases()["cases"];
  const auto lines = result.lines();
  REQUIRE(lines.size() == cases.size() + 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const json& workspace = cases[i]["expected_workspace"];
    CHECK(lines[i] == cases[i]["id"].get<std::string>() + " " + std::to_string(cases[i]["expected_status"].get<int>()) +
                          " " + (workspace.is_null() ? "-" : std::to_string(workspace.get<std::uint64_t>())));
  }
  CHECK(lines.back().rfind("summary:", 0) == 0);
}

TEST_CASE("check marks what differs from the expectation, and only where there is one") {
  const TempDir dir;
  json cases = two_cases();
  const auto workspace = cases[0]["expected_workspace"].get<std::uint64_t>();
  const std::string accepted = cases[0]["id"].get<std::string>();
  const std::string refused = cases[1]["id"].get<std::string>();
  cases[0]["expected_workspace"] = 7;
  cases[1]["expected_status"] = -1;
  CliResult result = cli({"check", write_cases(dir, cases)});
  CHECK(result.code == 1);
  CHECK(result.lines()[0] == accepted + " 0 " + std::to_string(workspace) + " MISMATCH expected 0 7");
  CHECK(result.lines()[1] == refused + " 561002 - MISMATCH expected -1 -");

  cases[0]["expected_workspace"] = nullptr;
  cases[0].erase("expected_status");
  cases[1].erase("expected_status");
  cases[1].erase("expected_workspace");
  result = cli({"check", write_cases(dir, cases)});
  CHECK(result.code == 0);
  CHECK(result.out.find("MISMATCH") == std::string::npos);
}

TEST_CASE("check appends messages on request and gives JSON") {
  const TempDir dir;
  const json cases = two_cases();
  const std::string file = write_cases(dir, cases);
  const auto lines = cli({"check", file, "--message"}).lines();
  CHECK(lines[0].back() == '\t');
  CHECK(lines[1].find("561002 -\t") != std::string::npos);
  CHECK(lines[1].back() != '\t');
  const json document = cli({"check", "--json", file}).json();
  REQUIRE(document["cases"].size() == 2);
  CHECK(document["cases"][0]["status"] == 0);
  CHECK(document["cases"][0]["workspace"] == cases[0]["expected_workspace"]);
  CHECK(document["cases"][1]["workspace"].is_null());
  CHECK(document["cases"][1]["mismatch"] == false);
  CHECK(document["mismatches"] == 0);
}

TEST_CASE("a negative dimension is named as such, not required of itself") {
  const TempDir dir;
  json cases = two_cases();
  for (const char* const list : {"inputs", "outputs"}) {
    for (auto& [name, desc] : cases[0][list].items()) {
      if (name == "token_x" && desc["shape"].size() == 3) desc["shape"][0] = -8;
    }
  }
  REQUIRE(cases[0]["inputs"]["token_x"]["shape"][0] == -8);
  const std::string line = cli({"check", write_cases(dir, cases), "--message"}).lines()[0];
  INFO(line);
  CHECK(line.find("token_x is ") != std::string::npos);
  CHECK(line.find("dimensions must not be negative") != std::string::npos);
}

TEST_CASE("check refuses files that hold no cases") {
  const TempDir dir;
  json wrong = two_cases();
  wrong[1]["inputs"]["token_x"]["dtype"] = "BF17";
  const std::vector<std::pair<std::string, std::string>> files = {
      {dir / "absent.json", "cannot open"},
      {dir.path().string(), "is a directory"},
      {dir.write("empty.json", ""), "is empty"},
      {dir.write("half.json", "{\"cases\": [{"), "invalid JSON"},
      {dir.write("array.json", "[]"), "must be an object"},
      {write_cases(dir, wrong), "cases[1].inputs.token_x.dtype: unknown dtype \"BF17\""},
  };
  for (const auto& [file, cause] : files) {
    const CliResult result = cli({"check", file});
    INFO(file << " gives " << result.err);
    CHECK(result.code == 2);
    CHECK(is_error_line(result, cause));
    CHECK(is_error_line(result, file));
  }
}
