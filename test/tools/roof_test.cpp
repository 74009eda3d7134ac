// The roof of `run`: each matmul at the peak of its own type.
#include "tools/run/roof.hpp"

#include "mla_prolog/problem.hpp"
#include "mla_prolog/system.hpp"
#include "test/catch.hpp"

using namespace mla_prolog;
using namespace mla_prolog::tools;

namespace {

Work work_of_mode(std::int64_t weight_mode) {
  return work_of(
      describe({.he = 64, .hcq = 128, .n = 2, .d = 32, .tokens = 3, .weight_quant_mode = weight_mode, .block_num = 1}));
}

}  // namespace

TEST_CASE("the operations that multiply int8 are those of the weights that are int8") {
  constexpr double kDq = 2.0 * 3 * 64 * 128;
  constexpr double kDkvKr = 2.0 * 3 * 64 * 576;
  constexpr double kUqQr = 2.0 * 3 * 128 * 2 * (32 + 64);
  constexpr double kUk = 2.0 * 3 * 2 * 32 * 512;
  for (std::int64_t mode = 0; mode <= 5; ++mode) {
    CHECK(work_of_mode(mode).flops == kDq + kDkvKr + kUqQr + kUk);
  }
  CHECK(work_of_mode(0).int8 == 0.0);
  CHECK(work_of_mode(1).int8 == kUqQr);
  CHECK(work_of_mode(2).int8 == kDq + kDkvKr + kUqQr);
  for (std::int64_t mode = 3; mode <= 5; ++mode) CHECK(work_of_mode(mode).int8 == 0.0);
}

TEST_CASE("the ideal time is the longer of reading and computing, each type at its own peak") {
  const Roof roof{.bytes_per_second = 10.0, .flops_per_second = 2.0, .int8_per_second = 8.0};
  CHECK(ideal_seconds({.bytes = 10.0, .flops = 24.0, .int8 = 16.0}, roof) == 4.0 + 2.0);
  CHECK(ideal_seconds({.bytes = 100.0, .flops = 24.0, .int8 = 16.0}, roof) == 10.0);
}

TEST_CASE("every instruction set here has an int8 peak, not below that of float32") {
  for (const IsaInfo& info : list_isas()) {
    if (!info.available) continue;
    INFO(to_string(info.isa));
    const Roof roof = measure_roof(info.isa, 1);
    CHECK(roof.flops_per_second > 0.0);
    CHECK(roof.int8_per_second >= roof.flops_per_second);
  }
}
