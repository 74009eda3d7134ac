// Wrong arguments of the building blocks: each parameter in turn gets each kind of mistake; the refusal names it, and
// nothing is written.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"

namespace mla_prolog::test {
namespace {

struct Argument {
  const char* name;
  TensorView view;
  bool output = false;
  bool optional = false;
  bool strided = false;  // a stride of the first dimension is fine
};
using Arguments = std::vector<Argument>;

struct Function {
  std::string_view name;
  std::vector<GuardedTensor> memory;
  Arguments arguments;
  std::function<Status(const Arguments&)> call;
  std::string_view in_place_of;  // the input that may also be the output
};

Function make_function(std::string_view name, std::initializer_list<std::pair<Argument, TensorDesc>> parameters,
                       std::function<Status(const Arguments&)> call) {
  Function function{.name = name, .memory = {}, .arguments = {}, .call = std::move(call), .in_place_of = {}};
  for (const auto& [argument, desc] : parameters) {
    function.memory.emplace_back(desc);
    function.memory.back().fill(std::byte{0});
    function.arguments.push_back(argument);
    function.arguments.back().view = function.memory.back().view();
  }
  return function;
}

Argument in(const char* name) { return {.name = name, .view = {}}; }
Argument out(const char* name) { return {.name = name, .view = {}, .output = true}; }

TensorDesc f32(std::initializer_list<std::int64_t> shape) { return TensorDesc::dense(DType::float32, shape); }
TensorDesc bf16(std::initializer_list<std::int64_t> shape) { return TensorDesc::dense(DType::bf16, shape); }
TensorDesc int8(std::initializer_list<std::int64_t> shape) { return TensorDesc::dense(DType::int8, shape); }
TensorDesc e4m3(std::initializer_list<std::int64_t> shape) { return TensorDesc::dense(DType::float8_e4m3fn, shape); }
TensorDesc e8m0(std::initializer_list<std::int64_t> shape) { return TensorDesc::dense(DType::float8_e8m0, shape); }

std::vector<Function> all_functions() {
  std::vector<Function> functions;
  functions.push_back(
      make_function("rms_norm", {{in("v"), f32({3, 64})}, {in("gamma"), bf16({64})}, {out("y"), f32({3, 64})}},
                    [](const Arguments& a) { return rms_norm(a[0].view, a[1].view, 1e-5F, 1.0F, a[2].view); }));
  functions.back().in_place_of = "v";
  functions.push_back(
      make_function("rope",
                    {{in("x"), f32({3, 2, 64})},
                     {in("sin"), bf16({3, 64})},
                     {in("cos"), bf16({3, 64})},
                     {out("y"), bf16({3, 2, 64})}},
                    [](const Arguments& a) { return rope(a[0].view, a[1].view, a[2].view, a[3].view); }));
  functions.push_back(make_function("make_rope_tables", {{out("sin"), bf16({3, 64})}, {out("cos"), bf16({3, 64})}},
                                    [](const Arguments& a) {
                                      static constexpr std::int64_t kPositions[] = {0, 1, 2};
                                      return make_rope_tables({}, kPositions, a[0].view, a[1].view);
                                    }));
  Argument smooth = in("smooth");
  smooth.optional = true;
  functions.push_back(make_function(
      "quantize_per_token",
      {{in("x"), f32({3, 40})}, {smooth, f32({40})}, {out("codes"), int8({3, 40})}, {out("scale"), f32({3})}},
      [](const Arguments& a) { return quantize_per_token(a[0].view, a[1].view, Profile::a2, a[2].view, a[3].view); }));
  functions.push_back(make_function(
      "quantize_mx", {{in("x"), bf16({3, 64})}, {out("codes"), e4m3({3, 64})}, {out("scale"), e8m0({3, 2})}},
      [](const Arguments& a) { return quantize_mx(a[0].view, a[1].view, a[2].view); }));
  functions.push_back(make_function(
      "quantize_per_tile", {{in("c"), f32({3, 512})}, {out("codes"), int8({3, 512})}, {out("scale"), f32({3, 4})}},
      [](const Arguments& a) { return quantize_per_tile(a[0].view, 1.0F, a[1].view, a[2].view); }));
  functions.push_back(make_function(
      "quantize_weight", {{in("w"), f32({48, 70})}, {out("codes"), int8({48, 70})}, {out("scale"), f32({1, 70})}},
      [](const Arguments& a) { return quantize_weight(a[0].view, a[1].view, a[2].view); }));
  functions.push_back(make_function(
      "quantize_weight_mx", {{in("w"), bf16({64, 70})}, {out("codes"), e4m3({64, 70})}, {out("scale"), e8m0({70, 2})}},
      [](const Arguments& a) { return quantize_weight_mx(a[0].view, a[1].view, a[2].view); }));
  Argument cache = out("cache");
  cache.strided = true;
  functions.push_back(make_function(
      "cache_scatter",
      {{in("rows"), bf16({3, 32})},
       {in("cache_index"), TensorDesc::dense(DType::int64, {3})},
       {cache, bf16({2, 4, 1, 32})}},
      [](const Arguments& a) {
        std::vector<std::int64_t> scratch(cache_scatter_scratch_bytes(3) / sizeof(std::int64_t));
        CacheAddressing addressing;
        addressing.tokens = 3;
        addressing.cache_index = a[1].view;
        return cache_scatter(a[0].view, addressing, a[2].view, scratch.data(), scratch.size() * sizeof(std::int64_t));
      }));
  functions.push_back(make_function(
      "format_cast", {{in("source"), bf16({32, 48})}, {out("destination"), TensorDesc::nz(DType::bf16, 32, 48)}},
      [](const Arguments& a) { return format_cast(a[0].view, a[1].view); }));
  return functions;
}

std::vector<std::vector<std::byte>> contents(const Function& function) {
  std::vector<std::vector<std::byte>> all;
  for (const auto& tensor : function.memory) all.push_back(tensor.snapshot());
  return all;
}

// Calls with arguments[at] changed and expects a refusal that names it.
void check_refused(const Function& function, std::size_t at, const char* mistake, Rule rule,
                   const std::function<void(TensorView&)>& change, const std::string& in_message = {}) {
  for (const auto& tensor : function.memory) {
    if (tensor.desc().dtype != DType::int64) tensor.fill(std::byte{0x5B});
  }
  const auto before = contents(function);
  Arguments arguments = function.arguments;
  change(arguments[at].view);
  const Status status = function.call(arguments);
  INFO(function.name << ": " << mistake << " in " << arguments[at].name << " gave: " << message(status));
  CHECK_FALSE(status.ok());
  CHECK(status.rule == rule);
  CHECK(status.code == (rule == Rule::pointer_null ? StatusCode::param_nullptr : StatusCode::param_invalid));
  REQUIRE(status.parameter != nullptr);
  CHECK(std::string(status.parameter) == arguments[at].name);
  CHECK(message(status).starts_with(std::string(arguments[at].name) + ":"));
  CHECK(message(status).find(in_message) != std::string::npos);
  CHECK((contents(function) == before));
}

void widen_last(TensorDesc& desc, std::int64_t by) {
  std::vector<std::int64_t> shape(desc.shape.begin(), desc.shape.begin() + desc.rank);
  shape.back() += by;
  desc = TensorDesc::dense(desc.dtype, shape, desc.format);
}

}  // namespace

TEST_CASE("valid arguments are accepted") {
  for (const Function& function : all_functions()) {
    const Status status = function.call(function.arguments);
    INFO(function.name << ": " << message(status));
    CHECK(status.ok());
    CHECK(message(status).empty());
    for (const auto& tensor : function.memory) CHECK(tensor.intact());
  }
}

TEST_CASE("every parameter: absent, null, dtype, format, strides, negative sizes, too many dimensions") {
  for (const Function& function : all_functions()) {
    for (std::size_t at = 0; at < function.arguments.size(); ++at) {
      const Argument& argument = function.arguments[at];
      if (!argument.optional) {
        check_refused(function, at, "absent", Rule::argument_rank, [](TensorView& v) { v.desc = {}; });
      }
      check_refused(function, at, "null", Rule::pointer_null, [](TensorView& v) { v.data = nullptr; });
      if (element_size(argument.view.desc.dtype) > 1) {
        check_refused(function, at, "address between elements", Rule::pointer_misaligned,
                      [](TensorView& v) { v.data = static_cast<std::byte*>(v.data) + 1; });
      }
      check_refused(
          function, at, "dtype", Rule::argument_dtype, [](TensorView& v) { v.desc.dtype = DType::float64; }, "DOUBLE");
      check_refused(
          function, at, "format", Rule::argument_format, [](TensorView& v) { v.desc.format = Format::nc1hwc0; },
          "NC1HWC0");
      check_refused(function, at, "inner strides", Rule::argument_strides,
                    [](TensorView& v) { v.desc.strides[static_cast<std::size_t>(v.desc.rank - 1)] = 2; });
      if (!argument.strided && argument.view.desc.rank > 1 && argument.view.desc.shape[0] > 1) {
        check_refused(function, at, "outer stride", Rule::argument_strides,
                      [](TensorView& v) { v.desc.strides[0] += 64; });
      }
      check_refused(
          function, at, "negative size", Rule::argument_dimension, [](TensorView& v) { v.desc.shape[0] = -5; }, "-5");
      check_refused(
          function, at, "nine dimensions", Rule::argument_rank, [](TensorView& v) { v.desc.rank = kMaxRank + 1; }, "9");
    }
  }
}

TEST_CASE("outputs must fit the input's shape") {
  for (const Function& function : all_functions()) {
    if (function.name == "format_cast" || function.name == "cache_scatter") continue;  // below
    for (std::size_t at = 0; at < function.arguments.size(); ++at) {
      const Argument& argument = function.arguments[at];
      if (!argument.output && at == 0) continue;  // the others are measured by the first
      check_refused(function, at, "wider", Rule::argument_dimension, [](TensorView& v) { widen_last(v.desc, 1); });
      if (argument.view.desc.rank == 1 || argument.view.desc.shape[0] == 1) continue;
      check_refused(function, at, "fewer rows", Rule::argument_dimension, [](TensorView& v) { v.desc.shape[0] -= 1; });
    }
  }
}

TEST_CASE("outputs must not overlap anything else") {
  for (const Function& function : all_functions()) {
    for (std::size_t at = 0; at < function.arguments.size(); ++at) {
      if (!function.arguments[at].output) continue;
      for (std::size_t other = 0; other < function.arguments.size(); ++other) {
        if (other == at || function.arguments[other].name == function.in_place_of) continue;
        const auto before = contents(function);
        Arguments arguments = function.arguments;
        arguments[at].view.data = arguments[other].view.data;
        const Status status = function.call(arguments);
        INFO(function.name << ": " << arguments[at].name << " on " << arguments[other].name << ": " << message(status));
        CHECK(status.rule == Rule::tensors_overlap);
        REQUIRE(status.parameter != nullptr);
        const std::string named = status.parameter;  // of two outputs either
        CHECK((named == arguments[at].name || (arguments[other].output && named == arguments[other].name)));
        CHECK(message(status).find("none") == std::string::npos);
        CHECK((contents(function) == before));
      }
    }
  }
}

TEST_CASE("sizes that divide wrongly are refused with the size and its divisor") {
  const auto refused = [](const Status& status, const char* parameter, std::int64_t value, std::int64_t limit) {
    INFO(message(status));
    CHECK(status.rule == Rule::argument_multiple);
    REQUIRE(status.parameter != nullptr);
    CHECK(std::string(status.parameter) == parameter);
    CHECK(message(status).find(std::to_string(value)) != std::string::npos);
    CHECK(message(status).ends_with(std::string("multiple of ").append(std::to_string(limit))));
  };
  const GuardedTensor v(f32({2, 63}));
  const GuardedTensor gamma(bf16({63}));
  const GuardedTensor y(f32({2, 63}));
  refused(rms_norm(v.view(), gamma.view(), 1e-5F, 1.0F, y.view()), "v", 63, 64);
  const GuardedTensor x(bf16({2, 48}));
  const GuardedTensor codes(e4m3({2, 48}));
  const GuardedTensor scale(e8m0({2, 1}));
  refused(quantize_mx(x.view(), codes.view(), scale.view()), "x", 48, 32);
  const GuardedTensor nd(bf16({32, 40}));
  const GuardedTensor nz(TensorDesc::nz(DType::bf16, 32, 48));
  refused(format_cast(nd.view(), nz.view()), "source", 40, 16);
  const GuardedTensor w(bf16({48, 8}));
  const GuardedTensor w_codes(e4m3({48, 8}));
  const GuardedTensor w_scale(e8m0({8, 1}));
  const Status status = quantize_weight_mx(w.view(), w_codes.view(), w_scale.view());
  CHECK(status.rule == Rule::argument_value);
  CHECK(message(status).find("48") != std::string::npos);
}

TEST_CASE("rope tables refuse a base and YaRN fields that make no frequencies") {
  static constexpr std::int64_t kPositions[] = {0, 1, 2};
  const GuardedTensor sin(bf16({3, 64}));
  const GuardedTensor cos(bf16({3, 64}));
  const auto parameter_of = [&](const RopeTableConfig& config) {
    sin.fill(std::byte{1});
    const auto before = sin.snapshot();
    const Status status = make_rope_tables(config, kPositions, sin.view(), cos.view());
    CHECK_FALSE(status.ok());
    CHECK((sin.snapshot() == before));
    return std::string(status.parameter == nullptr ? "" : status.parameter);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {1.0, 0.0, -10000.0, kNan, kInfinity, 1e300 /* not in float32 */}) {
    RopeTableConfig config;
    config.theta = bad;
    CHECK(parameter_of(config) == "theta");
  }
  RopeTableConfig too_large;
  too_large.yarn = true;
  too_large.factor = 1e300;
  CHECK(parameter_of(too_large) == "factor");
  for (const double bad : {0.0, -1.0, kNan, kInfinity}) {
    RopeTableConfig config;
    config.yarn = true;
    config.factor = bad;
    CHECK(parameter_of(config) == "factor");
    config.factor = 40;
    config.original_max_position_embeddings = bad;
    CHECK(parameter_of(config) == "original_max_position_embeddings");
    config.original_max_position_embeddings = 4096;
    config.beta_fast = bad;
    CHECK(parameter_of(config) == "beta_fast");
    config.beta_fast = 32;
    config.beta_slow = bad;
    CHECK(parameter_of(config) == "beta_slow");
    if (bad == 0 || bad == -1) continue;  // any finite number does for these
    config.beta_slow = 1;
    config.mscale = bad;
    CHECK(parameter_of(config) == "mscale");
    config.mscale = 1;
    config.mscale_all_dim = bad;
    CHECK(parameter_of(config) == "mscale_all_dim");
  }
}

TEST_CASE("tensors without rows need no data") {
  const TensorView no_f32{f32({0, 64}), nullptr};
  const TensorView no_bf16{bf16({0, 64}), nullptr};
  const TensorView no_int8{int8({0, 64}), nullptr};
  const GuardedTensor gamma(bf16({64}));
  const GuardedTensor scale(f32({1, 64}));
  CHECK(rms_norm(no_f32, gamma.view(), 1e-5F, 1.0F, no_bf16).ok());
  CHECK(rope(no_f32, no_bf16, no_bf16, no_bf16).ok());
  CHECK(make_rope_tables({}, {}, no_bf16, no_bf16).ok());
  CHECK(quantize_per_token(no_f32, {}, Profile::a2, no_int8, {f32({0}), nullptr}).ok());
  CHECK(quantize_mx(no_bf16, {e4m3({0, 64}), nullptr}, {e8m0({0, 2}), nullptr}).ok());
  CHECK(quantize_per_tile({f32({0, 512}), nullptr}, 1.0F, {int8({0, 512}), nullptr}, {f32({0, 4}), nullptr}).ok());
  CHECK(quantize_weight(no_f32, no_int8, scale.view()).ok());
}

}  // namespace mla_prolog::test
