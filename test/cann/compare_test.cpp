// mla-prolog compare with the emulated CANN as the device. The device is the process's: ctest runs the cases by tag, in
// the environment that each tag stands for.
#include <cstdlib>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/cli/cli.hpp"

using namespace mla_prolog::test;

namespace {

/// Sizes that a device takes, and few.
std::vector<std::string> compare(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"compare", "--he", "1024",       "--hcq", "1536",     "--heads", "1",
                                     "--tp",    "1",    "--nope-dim", "128",   "--tokens", "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

nlohmann::json compare_json(const std::vector<std::string>& more, int code) {
  std::vector<std::string> arguments = compare(more);
  arguments.emplace_back("--json");
  const CliResult result = cli(arguments);
  INFO(result.err);
  REQUIRE(result.code == code);
  return result.json();
}

/// Number of elements at a distance other than 0.
std::size_t different(const nlohmann::json& tensor) {
  return tensor.at("elements").get<std::size_t>() - tensor.at("histogram").at("equal").get<std::size_t>();
}

}  // namespace

TEST_CASE("a device that computes as the CPU does agrees in every tensor", "[a2]") {
  for (const char* order : {"cpu,ascend", "ascend,cpu", "reference,ascend"}) {
    for (const char* scenario : {"w0kv0", "w1kv0", "w1kv2", "w1kv3", "w2kv0", "w2kv1", "w2kv3"}) {
      INFO(order << " " << scenario);
      const auto document = compare_json({"--backends", order, "--quant", scenario, "--query-norm"}, 0);
      REQUIRE(document.at("scenarios").size() == 1);
      const auto& result = document.at("scenarios")[0];
      CHECK(result.at("profile") == "a2");
      CHECK(result.at("equal") == true);
      CHECK(result.at("tensors").size() >= 4);
      for (const auto& tensor : result.at("tensors")) {
        CHECK(tensor.at("elements") > 0);
        CHECK(different(tensor) == 0);
      }
    }
  }
}

TEST_CASE("the text says what agrees, and how far", "[a2]") {
  const CliResult result = cli(compare({"--backends", "cpu,ascend", "--quant", "w2kv1"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("scenario w2kv1, profile a2: cpu against ascend") != std::string::npos);
  CHECK(result.out.find("summary: 1 scenarios, all equal") != std::string::npos);
  for (const char* tensor : {"query ", "query_rope", "kv_cache", "kr_cache", "dequant_scale_q_nope"}) {
    CHECK(result.out.find(std::string("  ") + tensor) != std::string::npos);
  }
}

TEST_CASE("without --quant, what the device's generation lacks is left out and said", "[a2]") {
  const auto document = compare_json({"--backends", "cpu,ascend"}, 0);
  CHECK(document.at("scenarios").size() == 7);
  REQUIRE(document.at("not_run").size() == 9);
  for (const auto& scenario : document.at("not_run")) {
    CHECK(scenario.at("reason").get<std::string>().find("needs Ascend950") != std::string::npos);
  }
  const CliResult text = cli(compare({"--backends", "cpu,ascend"}));
  CHECK(text.code == 0);
  CHECK(text.out.find("scenario w3kv0: not run: ") != std::string::npos);
  CHECK(text.out.find("summary: 7 scenarios, all equal; 9 not run") != std::string::npos);

  const CliResult asked = cli(compare({"--backends", "cpu,ascend", "--quant", "w3kv0"}));
  CHECK(asked.code == 2);
  CHECK(is_error_line(asked, "needs Ascend950"));
}

TEST_CASE("a 950 is compared by its own profile, in all scenarios", "[950]") {
  const auto document = compare_json({"--backends", "cpu,ascend"}, 0);
  REQUIRE(document.at("scenarios").size() == 16);
  for (const auto& scenario : document.at("scenarios")) {
    INFO(scenario.at("scenario"));
    CHECK(scenario.at("profile") == "950");
    CHECK(scenario.at("equal") == true);
  }
}

TEST_CASE("a device that computes otherwise is shown where it does", "[other_epsilon]") {
  const auto document = compare_json({"--backends", "cpu,ascend", "--quant", "w0kv0"}, 1);
  const auto& result = document.at("scenarios")[0];
  CHECK(result.at("equal") == false);
  int seen = 0;
  for (const auto& tensor : result.at("tensors")) {
    INFO(tensor);
    // The stand-in's epsilon of c^Q goes into the queries, not into the caches.
    const bool of_the_queries = tensor.at("name").get<std::string>().rfind("query", 0) == 0;
    CHECK((different(tensor) > 0) == of_the_queries);
    CHECK((tensor.at("largest_distance") > 0) == of_the_queries);
    ++seen;
  }
  CHECK(seen == 4);
  const CliResult text = cli(compare({"--backends", "cpu,ascend", "--quant", "w0kv0"}));
  CHECK(text.code == 1);
  CHECK(text.out.find("not all equal") != std::string::npos);
}

TEST_CASE("a device that fails is an error with CANN's function and status", "[phase_two_error]") {
  const CliResult result = cli(compare({"--backends", "cpu,ascend", "--quant", "w0kv0"}));
  CHECK(result.code == 2);
  CHECK(is_error_line(result, "aclnnMlaPrologV3WeightNz failed with status 561000"));
}
