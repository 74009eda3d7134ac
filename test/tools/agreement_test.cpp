// The bounds of `numerics = fast`: what lies inside, what outside.
#include "tools/run/agreement.hpp"

#include <cstring>

#include "test/catch.hpp"

using namespace mla_prolog;
using namespace mla_prolog::tools;

namespace {

// Query and its scale of one token; the tensors that are not looked at stay empty.
Operands operands_of(DType query, const std::vector<float>& scales) {
  Operands operands;
  operands.problem = describe({.he = 64,
                               .hcq = 128,
                               .n = 1,
                               .d = 32,
                               .tokens = 1,
                               .weight_quant_mode = 2,
                               .kv_cache_quant_mode = 1,
                               .block_num = 0});
  operands.problem.query = TensorDesc::dense(query, {1, 1, kHckv});
  operands.problem.query_rope = {};
  operands.problem.dequant_scale_q_nope =
      TensorDesc::dense(DType::float32, {static_cast<std::int64_t>(scales.size()), 1, 1});
  operands[TensorId::query] = Buffer::zeros(operands.problem.query.extent_bytes());
  operands[TensorId::dequant_scale_q_nope] = Buffer::copy_of(std::as_bytes(std::span(scales)));
  return operands;
}

template <typename T>
bool within(DType dtype, const std::vector<T>& changed, T from, T to) {
  Operands a = operands_of(dtype, {1.0F});
  Operands b = operands_of(dtype, {1.0F});
  for (std::size_t i = 0; i < changed.size(); ++i) {
    a[TensorId::query].as<T>()[i] = from;
    b[TensorId::query].as<T>()[i] = to;
  }
  const auto result = agreement_of(a, b);
  REQUIRE(result.front().tensor == "query");
  return result.front().within_fast_bounds();
}

bool scales_within(float a, float b) {
  const auto result = agreement_of(operands_of(DType::int8, {a}), operands_of(DType::int8, {b}));
  REQUIRE(result.back().tensor == "dequant_scale_q_nope");
  return result.back().within_fast_bounds();
}

}  // namespace

TEST_CASE("fast allows bf16 a unit in the last place or five percent") {
  const auto bf16 = [](std::uint16_t from, std::uint16_t to) {
    return within<std::uint16_t>(DType::bf16, {0}, from, to);
  };
  // Among others that are equal and large.
  const auto among = [](std::uint16_t from, std::uint16_t to) {
    Operands a = operands_of(DType::bf16, {1.0F});
    for (auto& code : a[TensorId::query].as<std::uint16_t>()) code = 0x4480;  // 1024
    Operands b = operands_of(DType::bf16, {1.0F});
    for (auto& code : b[TensorId::query].as<std::uint16_t>()) code = 0x4480;
    a[TensorId::query].as<std::uint16_t>()[7] = from;
    b[TensorId::query].as<std::uint16_t>()[7] = to;
    return agreement_of(a, b).front().within_fast_bounds();
  };
  CHECK(bf16(0x3F80, 0x3F80));
  CHECK(bf16(0x4380, 0x4381));         // 256, 258
  CHECK(among(0x4380, 0x4386));        // 256, 268
  CHECK_FALSE(among(0x4380, 0x4387));  // 256, 270
  CHECK_FALSE(bf16(0x3F80, 0xBF80));
  CHECK_FALSE(bf16(0x3C00, 0x3C04));  // small, but the only one: 3 % of the norm
  CHECK_FALSE(bf16(0x3F80, 0x7FC0));
}

TEST_CASE("fast allows 8-bit codes one step, and of int8 codes few") {
  const std::vector<std::int8_t> few(128);
  const std::vector<std::int8_t> many(129);
  CHECK(within<std::int8_t>(DType::int8, few, 5, 6));
  CHECK_FALSE(within<std::int8_t>(DType::int8, many, 5, 6));
  CHECK_FALSE(within<std::int8_t>(DType::int8, {0}, 5, 7));
  const std::vector<std::uint8_t> all(512);
  CHECK(within<std::uint8_t>(DType::float8_e4m3fn, all, 0x38, 0x39));
  CHECK_FALSE(within<std::uint8_t>(DType::float8_e4m3fn, {0}, 0x38, 0x3A));
}

TEST_CASE("fast allows scales two units in the last place or half a percent") {
  CHECK(scales_within(1.0F, 1.004F));
  CHECK_FALSE(scales_within(1.0F, 1.006F));
  CHECK(scales_within(1e-40F, 1.00001e-40F));
  CHECK_FALSE(scales_within(0.01F, 0.02F));
}
