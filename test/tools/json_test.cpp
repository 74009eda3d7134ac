// Field access: values that are right, and messages that name file and path for those that are not.
#include "tools/io/json.hpp"

#include "test/catch.hpp"
#include "tools/io/error.hpp"

using namespace mla_prolog::tools;

namespace {

template <typename Use>
std::string cause_of(Use use) {
  try {
    use();
  } catch (const InputError& error) {
    CHECK(error.file() == "F");
    return error.cause();
  }
  return "no error";
}

}  // namespace

TEST_CASE("fields are read with their types and ranges") {
  const auto document =
      parse_json(R"({"a": {"b": [1, -2, 3.5]}, "n": null, "t": "x", "f": true, "u": 18446744073709551615})", "F");
  const JsonNode root(document, "F");
  CHECK(root["a"]["b"].elements()[0].integer() == 1);
  CHECK(root["a"]["b"].elements()[1].number() == -2.0);
  CHECK(root["a"]["b"].elements()[2].number() == 3.5);
  CHECK(root["t"].text() == "x");
  CHECK(root["f"].boolean());
  CHECK(root["u"].unsigned_integer() == UINT64_MAX);
  CHECK(root["n"].is_null());
  CHECK_FALSE(root.find("n").has_value());
  CHECK_FALSE(root.find("absent").has_value());
  CHECK(cause_of([&] { root["absent"]; }) == "document: has no member \"absent\"");
  CHECK(cause_of([&] { root["a"]["b"].elements()[2].integer(); }) == "a.b[2]: must be an integer, is number");
  CHECK(cause_of([&] { root["a"]["b"].integers(0); }) == "a.b[1]: is -2, must lie in 0..9223372036854775807");
  CHECK(cause_of([&] { root["u"].integer(); }).find("u: is 18446744073709551615, must lie in") == 0);
  CHECK(cause_of([&] { root["a"].text(); }) == "a: must be a string, is object");
  CHECK(cause_of([&] { root["t"]["x"]; }) == "t: must be an object, is string");
  CHECK(cause_of([&] { root["t"].elements(); }) == "t: must be an array, is string");
  CHECK(cause_of([&] { root["t"].boolean(); }) == "t: must be true or false, is string");
}

TEST_CASE("documents that are no JSON, or ambiguous, are refused in one line") {
  const auto parse_cause = [](const std::string& text) { return cause_of([&] { parse_json(text, "F"); }); };
  for (const std::string text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "{\"a\":1}x", "\"\n\"", "[1e999]"}) {
    const std::string cause = parse_cause(text);
    INFO(text << " gives " << cause);
    CHECK(cause.find("invalid JSON") == 0);
    CHECK(cause.find('\n') == std::string::npos);
  }
  CHECK(parse_cause(R"({"a": {"b": 1, "b": 2}})") == "invalid JSON: duplicate key \"b\"");
  CHECK(parse_cause(std::string(65, '[')).find("nested more than 64 levels") != std::string::npos);
  CHECK(parse_cause(std::string(64, '[') + std::string(64, ']')) == "no error");
}

TEST_CASE("the order of top-level keys is kept") {
  std::vector<std::string> keys;
  parse_json(R"({"z": {"q": 1, "p": 2}, "a": 1, "m": []})", "F", &keys);
  CHECK(keys == std::vector<std::string>{"z", "a", "m"});
}
