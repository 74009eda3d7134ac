// numerics = fast: another order of summation, within the error that any order may have.
#include <cmath>
#include <cstring>

#include "mla_prolog/convert.hpp"
#include "mla_prolog/system.hpp"
#include "runtime/backend/onednn/probe.hpp"
#include "test/onednn/operator_run.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

std::uint16_t bf16_code(float value) {
  std::uint16_t code = 0;
  REQUIRE(encode(DType::bf16, &value, 1, &code));
  return code;
}

// Elements of a bf16 or float32 tensor.
std::vector<float> values_of(const OperatorData& data, TensorId id) {
  const TensorDesc& desc = data.problem()[id];
  std::vector<float> values(static_cast<std::size_t>(desc.numel()));
  if (!values.empty()) REQUIRE(decode(desc.dtype, data.buffer(id).data(), values.size(), values.data()));
  return values;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * v;
  return std::sqrt(sum);
}

}  // namespace

// Any order of n float32 additions of products errs by at most n * 2^-24 * sum |a * b| (to first order; twice that is
// allowed, for instructions that round products and pairs apart).
TEST_CASE("float matmuls of oneDNN stay within the error bound of float32 summation", "[fast]") {
  if (onednn::version().empty()) MLA_PROLOG_SKIP("this build has no oneDNN");
  Rng rng(seed());
  for (const onednn::Type type : {onednn::Type::bf16, onednn::Type::f32}) {
    for (const std::int64_t tokens : {1, 5, 64}) {
      constexpr std::int64_t kK = 1536;
      constexpr std::int64_t kN = 64;
      const onednn::MadeMatmul made = onednn::make_matmul({.type = type, .k = kK, .columns = kN, .max_tokens = tokens});
      if (made.matmul == nullptr || !onednn::unusable(*made.matmul).empty()) continue;
      std::vector<float> left(static_cast<std::size_t>(tokens * kK));
      std::vector<float> weights(static_cast<std::size_t>(kK * kN));
      const auto fill = [&](std::vector<float>& values, std::vector<std::uint16_t>& codes) {
        for (float& v : values) {
          const std::uint16_t code =
              bf16_code(rng.chance(0.02) ? rng.float_of_exponent(3, 9) : rng.float_of_exponent(-6, 2));
          codes.push_back(code);
          REQUIRE(decode(DType::bf16, &code, 1, &v));
        }
      };
      std::vector<std::uint16_t> left_codes;
      std::vector<std::uint16_t> weight_codes;
      fill(left, left_codes);
      fill(weights, weight_codes);
      const bool narrow = type == onednn::Type::bf16;
      std::vector<std::byte> prepared(made.matmul->prepared_bytes());
      std::vector<std::byte> scratch(made.matmul->scratch_bytes());
      std::vector<float> results(static_cast<std::size_t>(tokens * kN));
      REQUIRE(made.matmul->prepare(narrow ? static_cast<void*>(weight_codes.data()) : weights.data(), prepared.data()));
      REQUIRE(made.matmul->multiply(tokens, narrow ? static_cast<void*>(left_codes.data()) : left.data(),
                                    prepared.data(), results.data(), scratch.data()));
      double worst = 0;
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t n = 0; n < kN; ++n) {
          double exact = 0;
          double magnitude = 0;
          for (std::int64_t k = 0; k < kK; ++k) {
            const double product =
                double{left[static_cast<std::size_t>(t * kK + k)]} * weights[static_cast<std::size_t>(k * kN + n)];
            exact += product;
            magnitude += std::fabs(product);
          }
          const double error = std::fabs(double{results[static_cast<std::size_t>(t * kN + n)]} - exact);
          worst = std::max(worst, error / (magnitude * 0x1p-24));
        }
      }
      INFO(made.matmul->implementation() << " T " << tokens << ": worst error " << worst << " units");
      CHECK(worst <= 2.0 * kK);
    }
  }
}

// numerics.md section 13 takes rtol = atol = 0.05 for all four outputs; rounding once more or less to bf16 moves
// results by 2^-8 of themselves, and the whole by far less.
TEST_CASE("the operator with numerics fast stays near the strict one", "[fast]") {
  bool ran = false;
  std::string refusal;
  for (const auto& [weight_mode, cache_mode] : {std::pair{0, 0}, {1, 0}, {2, 0}, {4, 0}}) {
    for (const std::int64_t tokens : {1, 33}) {
      const Problem problem = describe(small_config(weight_mode, cache_mode, tokens));
      OperatorData data(problem, 7, false);
      const auto plan = onednn_plan(problem, Numerics::fast, 2, refusal);
      if (!plan) continue;
      ran = true;
      CHECK(plan->describe().find("numerics fast") != std::string::npos);
      OperatorData strict(problem, 7, false);
      static_cast<void>(strict_results(strict));
      static_cast<void>(results_of(*plan, prepared_for(*plan, data), data));
      for (const TensorId id : {TensorId::query, TensorId::query_rope, TensorId::kv_cache, TensorId::kr_cache}) {
        const std::vector<float> want = values_of(strict, id);
        std::vector<float> error = values_of(data, id);
        double outside = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
          error[i] -= want[i];
          if (std::fabs(error[i]) > 0.05F + 0.05F * std::fabs(want[i])) ++outside;
        }
        INFO("w" << weight_mode << " T " << tokens << " " << to_string(id) << ": relative error "
                 << norm(error) / norm(want));
        CHECK(outside == 0);
        CHECK(norm(error) <= 0x1p-8 * norm(want));
      }
    }
  }
  if (!ran) MLA_PROLOG_SKIP(refusal);
}

TEST_CASE("automatic plans with numerics fast use oneDNN by measured cost, and do without prepared weights", "[fast]") {
  const Problem problem = describe(small_config(0, 0, 64));
  const auto plan = make_plan(problem, {.numerics = Numerics::fast, .threads = 1});
  if (!plan.ok()) MLA_PROLOG_SKIP(plan.error().message);
  OperatorData data(problem, 9, false);
  const auto want = strict_results(data);
  CHECK((results_of(*plan, {}, data) == want));
  const bool bf16 = plan->describe().find("oneDNN (bf16bf16f32 brg:avx512_core_bf16") != std::string::npos;
  CHECK((plan->backend() == Backend::onednn) == bf16);
}

TEST_CASE("fast is never the default", "[fast]") {
  const auto plan = make_plan(describe(small_config(0, 0, 64)));
  REQUIRE(plan.ok());
  CHECK(plan->describe().find("numerics strict") != std::string::npos);
  CHECK(plan->describe().find("oneDNN (bf16") == std::string::npos);
}

}  // namespace mla_prolog::test
