// All validation and golden cases through the C interface of the dlopened libraries. The SoC is the process's
// (MLA_PROLOG_SOC): ctest runs this once for each, without the cases that have the tag of the other.
#include <algorithm>

#include "test/cann/golden_run.hpp"
#include "test/catch.hpp"
#include "tools/cases/validation_case.hpp"

using namespace mla_prolog;
using test::Cann;
using test::Device;
using test::GoldenRun;
using test::Layout;
using test::on_950;
using test::OperatorCall;

namespace {

aclTensor* make_tensor(const TensorDesc& desc) {
  const auto rank = static_cast<std::size_t>(desc.rank);
  const std::vector<std::int64_t> view(desc.shape.begin(),
                                       desc.shape.begin() + std::min<std::ptrdiff_t>(desc.rank, kMaxRank));
  std::vector<std::int64_t> dims(rank, 1);
  std::copy(view.begin(), view.end(), dims.begin());
  std::vector<std::int64_t> storage = dims;
  if (desc.format == Format::fractal_nz && rank == 2 && element_size(desc.dtype) > 0) {
    storage = test::nz_shape(desc.dtype, dims[0], dims[1]);
  }
  return Cann::instance().create_tensor(dims.data(), rank, static_cast<aclDataType>(desc.dtype), nullptr, 0,
                                        static_cast<aclFormat>(desc.format), storage.data(), storage.size(), nullptr);
}

void run_golden_cases(const Layout& layout) {
  const auto files = test::golden_files();
  if (files.empty()) MLA_PROLOG_SKIP("no golden cases in " + test::shared_dir().string());
  const Device device;
  int run = 0;
  for (const auto& file : files) {
    const test::Golden golden = test::read_golden(file);
    if ((golden.profile == "950") != on_950()) continue;
    // Compact caches only: the copies of a case are compared byte by byte from their first element on.
    GoldenRun call(golden, layout);
    call.run(device.stream);
    call.compare();
    ++run;
  }
  CHECK(run > 0);
  CHECK(Cann::instance().findings() == 0);
}

}  // namespace

TEST_CASE("every validation case gets its status and workspace through the C interface") {
  const auto file = test::shared_dir() / "cases" / "validation_v3.json";
  if (!std::filesystem::exists(file)) MLA_PROLOG_SKIP("no " + file.string());
  int run = 0;
  for (const tools::ValidationCase& c : tools::read_validation_cases(file)) {
    if ((c.soc == Soc::ascend950) != on_950()) continue;
    INFO(c.id);
    OperatorCall call;
    call.attributes = c.problem.attributes;
    for (const TensorId id : all_tensors()) {
      if (c.problem[id].present()) call[id] = make_tensor(c.problem[id]);
    }
    std::uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = call.phase_one(&workspace, &executor);
    if (c.expected_status) CHECK(status == *c.expected_status);
    if (status == 0) {
      CHECK(executor != nullptr);
      if (c.expected_workspace) CHECK(workspace == *c.expected_workspace);
      CHECK(Cann::instance().destroy_executor(executor) == 0);
    } else {
      const char* text = Cann::instance().error();
      CHECK(text != nullptr);
      CHECK(executor == nullptr);
    }
    call.destroy_tensors();
    ++run;
  }
  CHECK(run > 0);
  CHECK(Cann::instance().findings() == 0);
}

TEST_CASE("every golden case is right to the bit through the C interface") { run_golden_cases({}); }

TEST_CASE("golden cases with 2-D weight views, view offsets and a strided token_x") {
  run_golden_cases({.weights_2d = true, .offset = 32, .strided_x = true});
}

TEST_CASE("caches with strides are copied in and back", "[a2]") {
  REQUIRE_FALSE(on_950());
  run_golden_cases({.strided_caches = true});
}

TEST_CASE("the strides of caches are ignored: their memory is taken as dense", "[950]") {
  REQUIRE(on_950());
  run_golden_cases({.strides_of_dense_caches = 2});
}

TEST_CASE("V1 and V2 compute what V3 does", "[a2]") {
  REQUIRE_FALSE(on_950());
  const auto files = test::golden_files();
  if (files.empty()) MLA_PROLOG_SKIP("no golden cases in " + test::shared_dir().string());
  const Device device;
  int run = 0;
  for (const auto& file : files) {
    const test::Golden golden = test::read_golden(file);
    const Attributes& a = golden.attributes;
    const std::int64_t hcq = golden.inputs.at(TensorId::weight_dq).shape[1];
    const std::int64_t d = golden.inputs.at(TensorId::weight_uk).shape[1];
    const bool paged = a.cache_mode == "PA_BSND" || a.cache_mode == "PA_NZ";
    if (golden.profile != "a2" || !paged || a.kv_cache_quant_mode == 3 || hcq != 1536 || d != 128) continue;
    if (a.qc_qr_scale != 1 || a.kc_scale != 1) continue;
    for (const ApiVersion api : {ApiVersion::v2, ApiVersion::v1}) {
      if (api == ApiVersion::v1 && a.kv_cache_quant_mode == 1) continue;
      GoldenRun call(golden, {.api = api});
      call.run(device.stream);
      call.compare();
      ++run;
    }
  }
  CHECK(run > 8);
  CHECK(Cann::instance().findings() == 0);
}

TEST_CASE("V1 and V2 are refused on 950, in both phases, before anything else", "[950]") {
  REQUIRE(on_950());
  OperatorCall call;
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  for (const ApiVersion api : {ApiVersion::v1, ApiVersion::v2}) {
    CHECK(call.phase_one(api, &bytes, &executor) == ACLNN_ERR_RUNTIME_ERROR);
    CHECK(OperatorCall::phase_two(api, nullptr, 0, nullptr, nullptr) == ACLNN_ERR_RUNTIME_ERROR);
  }
}
