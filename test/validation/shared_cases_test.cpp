// The case tables: the committed one always, the full one where it is.
#include <set>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"
#include "tools/cases/validation_case.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

void run_cases(const std::filesystem::path& path, std::size_t least) {
  const auto cases = tools::read_validation_cases(path);
  REQUIRE(cases.size() >= least);
  for (const auto& item : cases) {
    const CheckReport report = strict(item.problem, item.soc);
    INFO(item.id << " gives " << show(report));
    REQUIRE(item.expected_status.has_value());
    CHECK(static_cast<std::int64_t>(report.code) == *item.expected_status);
    CHECK(report.cann_workspace_bytes == item.expected_workspace.value_or(0));
    CHECK(report.message.empty() == (report.code == StatusCode::success));
  }
}

}  // namespace

TEST_CASE("the committed phase-one cases give their status and workspace") {
  run_cases(data_dir() / "cases" / "validation_v3.json", 12);
}

TEST_CASE("the committed phase-one cases reach every status of V3") {
  std::set<std::int64_t> codes;
  for (const auto& item : tools::read_validation_cases(data_dir() / "cases" / "validation_v3.json")) {
    codes.insert(item.expected_status.value());
  }
  CHECK(codes == std::set<std::int64_t>{-1, 0, 161001, 161002, 561002});
}

TEST_CASE("the full table of phase-one cases gives its status and workspace") {
  const auto path = shared_dir() / "cases" / "validation_v3.json";
  if (!std::filesystem::exists(path)) MLA_PROLOG_SKIP("no full table of phase-one cases");
  run_cases(path, 55);
}
