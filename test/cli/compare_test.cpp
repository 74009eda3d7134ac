// compare: agreement of two backends, and the distances it counts, on results made by hand.
#include <cmath>
#include <cstring>
#include <limits>

#include "test/catch.hpp"
#include "test/cli/cli.hpp"
#include "tools/run/agreement.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;
using tools::Agreement;
using tools::Buffer;
using tools::Operands;

namespace {

std::vector<std::string> compare_run(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"compare", "--he",     "64", "--hcq",      "64", "--heads",
                                     "2",       "--tokens", "3",  "--nope-dim", "16"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// One tensor of three elements, twice.
Agreement agreement_of_codes(TensorId id, DType dtype, const std::vector<std::uint32_t>& a,
                             const std::vector<std::uint32_t>& b) {
  const auto fill = [&](const std::vector<std::uint32_t>& codes) {
    Operands operands;
    operands.problem[id] = TensorDesc::dense(dtype, {1, static_cast<std::int64_t>(codes.size())});
    operands[id] = Buffer(operands.problem[id].extent_bytes());
    const std::size_t size = element_size(dtype);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      std::memcpy(operands[id].bytes().data() + i * size, &codes[i], size);  // little endian
    }
    return operands;
  };
  const auto result = tools::agreement_of(fill(a), fill(b));
  REQUIRE(result.size() == 1);
  return result.front();
}

}  // namespace

TEST_CASE("compare finds the optimised kernels equal to the reference in every scenario") {
  const CliResult result = cli(compare_run({"--backends", "reference,cpu", "--json"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto document = result.json();
  REQUIRE(document.at("scenarios").size() == 16);
  for (const auto& scenario : document.at("scenarios")) {
    CHECK(scenario.at("equal") == true);
    for (const auto& tensor : scenario.at("tensors")) {
      CHECK(tensor.at("elements") > 0);
      CHECK(tensor.at("share_equal") == 1.0);
    }
  }
}

TEST_CASE("compare says why a backend cannot be had") {
  const CliResult result = cli(compare_run({"--backends", "cpu,ascend", "--quant", "w0kv0"}));
  CHECK(result.code == 2);
  CHECK(is_error_line(result, "ascend"));
  CHECK(cli(compare_run({"--backends", "cpu"})).code == 2);
  CHECK(cli(compare_run({"--backends", "cpu,abacus"})).code == 2);
}

TEST_CASE("distances are counted in steps of the number format") {
  const Agreement bf16 = agreement_of_codes(TensorId::query_rope, DType::bf16, {0x3F80, 0x8000, 0x0001, 0x7FC0, 0x4000},
                                            {0x3F81, 0x0000, 0x8001, 0x7FC0, 0x7FC0});
  CHECK(bf16.elements == 5);
  CHECK(bf16.histogram == decltype(bf16.histogram){2, 1, 1, 0, 0, 0, 0, 1});  // -0 equals 0; one NaN is no number
  CHECK(bf16.largest == 2);

  const Agreement int8 = agreement_of_codes(TensorId::query, DType::int8, {0x7F, 0xFF, 0x10}, {0x80, 0x01, 0x0F});
  CHECK(int8.histogram == decltype(int8.histogram){0, 1, 1, 0, 0, 0, 1, 0});
  CHECK(int8.largest == 255);

  // 0x1F is 0.9375, the largest value below 1.0 (0x08); 0x6D is 24576, next to 32768 (0x6E).
  const Agreement hif8 = agreement_of_codes(TensorId::query, DType::hifloat8, {0x08, 0x6E}, {0x1F, 0x6D});
  CHECK(hif8.histogram == decltype(hif8.histogram){0, 2, 0, 0, 0, 0, 0, 0});
}
