// repro, and what info says of oneDNN.
#include "test/catch.hpp"
#include "test/cli/cli.hpp"

namespace mla_prolog::test {

TEST_CASE("repro: one value for each case, the same again with the same seed, as text and as JSON") {
  const std::vector<std::string> arguments{"repro", "--seed",     "9", "--cases",   "2", "--tokens",
                                           "3",     "--variants", "7", "--repeats", "1", "--json"};
  const CliResult result = cli(arguments);
  INFO(result.err << result.out);
  REQUIRE(result.code == 0);
  const auto document = result.json();
  CHECK(document["command"] == "repro");
  CHECK(document["seed"] == 9);
  CHECK(document["full"] == false);
  CHECK(document["different"] == 0);
  REQUIRE(document["cases"].size() == 2);
  for (const auto& one : document["cases"]) {
    CHECK(one["equal"] == true);
    CHECK(one["tokens"] == 3);
    CHECK(one["variants"] > 1);
    CHECK(one["variants"] <= 7);
  }
  CHECK(document["cases"][0]["digest"] != document["cases"][1]["digest"]);
  CHECK(cli(arguments).out == result.out);

  const CliResult text = cli({"repro", "--seed", "9", "--case", "1", "--tokens", "3", "--variants", "3"});
  CHECK(text.code == 0);
  CHECK(text.out.find("SAME case 1 (") == 0);
  CHECK(text.out.find(document["cases"][1]["digest"].get<std::string>()) != std::string::npos);
  CHECK(text.lines().back() == "summary: 1 cases, 0 different");
}

TEST_CASE("repro: options that make no sense are refused") {
  CHECK(is_error_line(cli({"repro", "--cases", "0"}), "--cases"));
  CHECK(is_error_line(cli({"repro", "--variants", "1"}), "--variants"));
  CHECK(is_error_line(cli({"repro", "--repeats", "-1"}), "--repeats"));
}

TEST_CASE("info: every type of oneDNN's matmuls, with its implementation or why not") {
  const auto document = cli({"info", "--json"}).json();
  REQUIRE(document["engines"].size() == 3);
  const CliResult text = cli({"info"});
  for (const auto& engine : document["engines"]) {
    INFO(engine.dump());
    CHECK((engine["available"] == true ? engine["implementation"] : engine["reason"]) != "");
    CHECK(text.out.find("engine " + engine["name"].get<std::string>()) != std::string::npos);
  }
}

}  // namespace mla_prolog::test
