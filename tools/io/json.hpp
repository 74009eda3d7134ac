// JSON as input that may be wrong: strict parsing, and field access whose errors name the file and the key path.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mla_prolog::tools {

/// Parses one document. Refuses duplicate keys, nesting beyond 64 levels, trailing text, invalid UTF-8.
/// @param top_level_keys  receives the root object's keys in the order of the text, if not null
nlohmann::json parse_json(std::string_view text, const std::string& file,
                          std::vector<std::string>* top_level_keys = nullptr);

/// A value inside a document, with the path that leads to it. Refers to the document and must not outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, std::string file) : value_(&value), file_(std::move(file)) {}

  /// A member that must be there (it may be null).
  JsonNode operator[](std::string_view key) const;
  /// A member, or nothing where it is absent or null.
  std::optional<JsonNode> find(std::string_view key) const;
  /// Elements of an array, members of an object.
  std::vector<JsonNode> elements() const;
  std::vector<std::pair<std::string, JsonNode>> members() const;

  bool is_null() const noexcept { return value_->is_null(); }
  bool is_array() const noexcept { return value_->is_array(); }
  std::int64_t integer(std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const;
  std::uint64_t unsigned_integer() const;
  /// An integer or a floating-point number.
  double number() const;
  bool boolean() const;
  const std::string& text() const;
  std::vector<std::int64_t> integers(std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const;

  /// Throws an InputError for this place.
  [[noreturn]] void fail(const std::string& cause) const;

 private:
  JsonNode(const nlohmann::json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}
  JsonNode child(const nlohmann::json& value, std::string_view key) const;

  const nlohmann::json* value_;
  std::string file_;
  std::string path_;
};

}  // namespace mla_prolog::tools
