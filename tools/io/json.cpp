#include "tools/io/json.hpp"

#include <algorithm>
#include <utility>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

// Builds the document itself because the library's own builder keeps the last of two equal keys.
class Builder : public json::json_sax_t {
 public:
  Builder(std::string file, std::vector<std::string>* top_level_keys)
      : file_(std::move(file)), top_level_keys_(top_level_keys) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (stack_.back()->contains(value)) {
      throw InputError(file_, "invalid JSON: duplicate key \"" + value + "\"");
    }
    if (stack_.size() == 1 && top_level_keys_ != nullptr) top_level_keys_->push_back(value);
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    std::string_view what = error.what();
    // "[json.exception.parse_error.101] parse error at ...: syntax error ..." without the library's own prefix.
    if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    throw InputError(file_, "invalid JSON near byte " + std::to_string(position) + ": " + std::string(what));
  }

 private:
  template <typename T>
  json* place(T&& value) {
    if (stack_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::forward<T>(value));
      return &parent.back();
    }
    json& slot = parent[key_];
    slot = std::forward<T>(value);
    return &slot;
  }
  template <typename T>
  bool add(T&& value) {
    place(std::forward<T>(value));
    return true;
  }
  bool open(json&& container) {
    if (stack_.size() == kMaxDepth) {
      throw InputError(file_, "invalid JSON: nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    stack_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string file_;
  std::vector<std::string>* top_level_keys_;
  json root_;
  // Pointers stay valid: only the innermost container grows, and nobody points into it.
  std::vector<json*> stack_;
  std::string key_;
};

std::string type_of(const json& value) { return value.type_name(); }

// Numbers as they stand, anything else by its type: a message must not grow with the file.
std::string shown(const json& value) { return value.is_number() ? value.dump() : type_of(value); }

}  // namespace

json parse_json(std::string_view text, const std::string& file, std::vector<std::string>* top_level_keys) {
  Builder builder(file, top_level_keys);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

JsonNode JsonNode::child(const json& value, std::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  return {value, file_, std::move(path)};
}

void JsonNode::fail(const std::string& cause) const {
  throw InputError(file_, (path_.empty() ? std::string("document") : path_) + ": " + cause);
}

JsonNode JsonNode::operator[](std::string_view key) const {
  if (!value_->is_object()) fail("must be an object, is " + type_of(*value_));
  const auto member = value_->find(key);
  if (member == value_->end()) fail("has no member \"" + std::string(key) + "\"");
  return child(*member, key);
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) fail("must be an object, is " + type_of(*value_));
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return child(*member, key);
}

std::vector<JsonNode> JsonNode::elements() const {
  if (!value_->is_array()) fail("must be an array, is " + type_of(*value_));
  std::vector<JsonNode> nodes;
  nodes.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    nodes.push_back(JsonNode((*value_)[i], file_, path_ + "[" + std::to_string(i) + "]"));
  }
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) fail("must be an object, is " + type_of(*value_));
  std::vector<std::pair<std::string, JsonNode>> nodes;
  nodes.reserve(value_->size());
  for (const auto& [key, value] : value_->items()) nodes.emplace_back(key, child(value, key));
  return nodes;
}

std::int64_t JsonNode::integer(std::int64_t lowest, std::int64_t highest) const {
  if (!value_->is_number_integer()) fail("must be an integer, is " + type_of(*value_));
  const bool too_big =
      value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t value = too_big ? std::numeric_limits<std::int64_t>::max() : value_->get<std::int64_t>();
  if (too_big || value < lowest || value > highest) {
    fail("is " + value_->dump() + ", must lie in " + std::to_string(lowest) + ".." + std::to_string(highest));
  }
  return value;
}

std::uint64_t JsonNode::unsigned_integer() const {
  if (!value_->is_number_unsigned()) fail("must be a non-negative integer, is " + shown(*value_));
  return value_->get<std::uint64_t>();
}

double JsonNode::number() const {
  if (!value_->is_number()) fail("must be a number, is " + type_of(*value_));
  return value_->get<double>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("must be true or false, is " + type_of(*value_));
  return value_->get<bool>();
}

const std::string& JsonNode::text() const {
  if (!value_->is_string()) fail("must be a string, is " + type_of(*value_));
  return value_->get_ref<const std::string&>();
}

std::vector<std::int64_t> JsonNode::integers(std::int64_t lowest, std::int64_t highest) const {
  std::vector<std::int64_t> values;
  for (const JsonNode& node : elements()) values.push_back(node.integer(lowest, highest));
  return values;
}

}  // namespace mla_prolog::tools
