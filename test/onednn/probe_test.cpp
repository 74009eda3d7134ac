// What the probe says of oneDNN's matmuls, against exact sums, on this CPU and on the lesser ones that
// ONEDNN_MAX_CPU_ISA makes of it.
#include "runtime/backend/onednn/probe.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "mla_prolog/plan.hpp"
#include "mla_prolog/system.hpp"
#include "test/catch.hpp"
#include "test/support/random.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using namespace mla_prolog;
using mla_prolog::test::Rng;

std::string limited_to() {
  const char* isa = std::getenv("ONEDNN_MAX_CPU_ISA");
  return isa == nullptr ? "" : isa;
}

bool cpu_has(Isa isa) {
  for (const IsaInfo& info : list_isas()) {
    if (info.isa == isa) return info.available;
  }
  return false;
}

MatmulEngineInfo engine_of(onednn::Type type) {
  for (const MatmulEngineInfo& engine : list_matmul_engines()) {
    if (engine.name.ends_with(onednn::name(type))) return engine;
  }
  return {};
}

// Whether int8 results are exact over many random and saturating operands.
bool exact(const onednn::Matmul& matmul, std::uint64_t seed) {
  Rng rng(seed);
  const onednn::Shape& shape = matmul.shape();
  std::vector<std::int8_t> left(static_cast<std::size_t>(shape.max_tokens * shape.k));
  std::vector<std::int8_t> weights(static_cast<std::size_t>(shape.k * shape.columns));
  for (std::int8_t& v : left) v = static_cast<std::int8_t>(rng.pick({-128, 127, 0, 1, static_cast<int>(rng.next())}));
  for (std::int8_t& v : weights) v = static_cast<std::int8_t>(rng.pick({-128, 127, static_cast<int>(rng.next())}));
  std::vector<std::byte> prepared(matmul.prepared_bytes());
  std::vector<std::byte> scratch(matmul.scratch_bytes());
  std::vector<std::int32_t> results(static_cast<std::size_t>(shape.max_tokens * shape.columns));
  REQUIRE(matmul.prepare(weights.data(), prepared.data()));
  REQUIRE(matmul.multiply(shape.max_tokens, left.data(), prepared.data(), results.data(), scratch.data()));
  for (std::int64_t t = 0; t < shape.max_tokens; ++t) {
    for (std::int64_t n = 0; n < shape.columns; ++n) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < shape.k; ++k) {
        sum += std::int64_t{left[static_cast<std::size_t>(t * shape.k + k)]} *
               weights[static_cast<std::size_t>(k * shape.columns + n)];
      }
      if (sum != results[static_cast<std::size_t>(t * shape.columns + n)]) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("int8 of oneDNN is available exactly where it is exact", "[probe]") {
  const MatmulEngineInfo engine = engine_of(onednn::Type::s8);
  if (onednn::version().empty()) {
    CHECK_FALSE(engine.available);
    CHECK(engine.reason == "not in this build");
    return;
  }
  INFO(engine.implementation << " " << engine.reason);
  CHECK(engine.numerics == Numerics::strict);
  for (const std::int64_t tokens : {1, 2, 7, 33}) {
    for (const auto& [k, columns] : {std::pair{64, 64}, {544, 96}, {1536, 192}}) {
      const onednn::MadeMatmul made =
          onednn::make_matmul({.type = onednn::Type::s8, .k = k, .columns = columns, .max_tokens = tokens});
      if (made.matmul == nullptr) continue;
      INFO("T " << tokens << " K " << k << " N " << columns << " " << made.matmul->implementation());
      if (onednn::unusable(*made.matmul).empty()) CHECK(exact(*made.matmul, mla_prolog::test::seed()));
    }
  }
}

TEST_CASE("without VNNI the probe refuses oneDNN's int8, and so do plans", "[probe]") {
  if (onednn::version().empty()) MLA_PROLOG_SKIP("this build has no oneDNN");
  const bool limited = limited_to() == "AVX2" || limited_to() == "AVX512_CORE";
  if (!limited && cpu_has(Isa::avx512_vnni)) return;  // the same test runs again, limited
  if (!cpu_has(Isa::avx2)) MLA_PROLOG_SKIP("not an AVX2 CPU");
  const MatmulEngineInfo engine = engine_of(onednn::Type::s8);
  INFO(engine.implementation);
  CHECK_FALSE(engine.available);
  CHECK_FALSE(engine.implementation.empty());
  CHECK(engine.reason.find("not exact") != std::string::npos);
  ProblemConfig config;
  config.he = 128;
  config.hcq = 128;
  config.n = 2;
  config.tokens = 4;
  config.block_num = 1;
  config.weight_quant_mode = 2;
  const Result<Plan> plan = make_plan(describe(config), {.backend = Backend::onednn});
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().status.rule == Rule::option_unavailable);
  CHECK(plan.error().message.find("not exact") != std::string::npos);
  CHECK(make_plan(describe(config))->backend() != Backend::onednn);
}

TEST_CASE("with VNNI the probe accepts oneDNN's int8", "[probe]") {
  if (onednn::version().empty()) MLA_PROLOG_SKIP("this build has no oneDNN");
  if (!cpu_has(Isa::avx512_vnni)) MLA_PROLOG_SKIP("this CPU has no AVX-512-VNNI");
  if (limited_to() == "AVX2" || limited_to() == "AVX512_CORE") return;
  const MatmulEngineInfo engine = engine_of(onednn::Type::s8);
  INFO(engine.reason);
  CHECK(engine.available);
  CHECK_FALSE(engine.implementation.empty());
}

#if defined(_OPENMP)
TEST_CASE("oneDNN leaves the caller's number of threads alone, and takes one", "[probe]") {
  if (onednn::version().empty()) MLA_PROLOG_SKIP("this build has no oneDNN");
  const int before = omp_get_max_threads();
  omp_set_num_threads(5);
  static_cast<void>(list_matmul_engines());
  const onednn::MadeMatmul made =
      onednn::make_matmul({.type = onednn::Type::f32, .k = 64, .columns = 64, .max_tokens = 3});
  if (made.matmul != nullptr) static_cast<void>(onednn::unusable(*made.matmul));
  CHECK(omp_get_max_threads() == 5);
  omp_set_num_threads(before);
}
#endif
