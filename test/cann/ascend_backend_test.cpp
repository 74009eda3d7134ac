// The ascend backend, with the emulated CANN as stand-in for a device, and with libraries that lack something.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "mla_prolog/mla_prolog.hpp"
#include "runtime/backend/ascend/library.hpp"
#include "test/cann/cann.hpp"
#include "test/catch.hpp"

using namespace mla_prolog;

namespace {

/// A small problem with memory for its tensors, filled with small numbers.
struct Computation {
  Computation(std::int64_t w, std::int64_t kv, bool query_norm) {
    ProblemConfig config;
    config.he = 1024;
    config.n = 2;
    config.tokens = 3;
    config.weight_quant_mode = w;
    config.kv_cache_quant_mode = kv;
    config.block_num = 2;
    config.block_size = 16;
    config.query_norm = query_norm;
    problem = describe(config);
    std::uint64_t state = test::seed();
    for (const TensorId id : all_tensors()) {
      const TensorDesc& desc = problem[id];
      if (!desc.present() || desc.numel() == 0) continue;
      auto& bytes = memory[id];
      bytes.resize(desc.extent_bytes());
      std::vector<float> values(static_cast<std::size_t>(desc.numel()));
      for (float& value : values) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        value = static_cast<float>(state >> 40) / static_cast<float>(1 << 24) - 0.25F;
        if (desc.dtype == DType::int8) value *= 100;
      }
      if (desc.dtype == DType::int64) {
        for (std::int64_t i = 0; i < desc.numel(); ++i) reinterpret_cast<std::int64_t*>(bytes.data())[i] = 5 * i + 1;
      } else {
        encode(desc.dtype, values.data(), values.size(), bytes.data());
      }
      tensors.set(id, bytes.data());
    }
  }

  Status run(Backend backend) {
    const Result<Plan> plan = make_plan(problem, {.backend = backend, .threads = 1});
    if (!plan.ok()) FAIL(plan.error().message);
    std::vector<std::byte> workspace(plan->workspace_bytes() + Plan::kWorkspaceAlignment);
    void* start = workspace.data();
    std::size_t space = workspace.size();
    std::align(Plan::kWorkspaceAlignment, plan->workspace_bytes(), start, space);
    return mla_prolog::run(*plan, tensors, start, plan->workspace_bytes());
  }

  Problem problem;
  std::map<TensorId, std::vector<std::byte>> memory;
  Tensors tensors;
};

/// What the stand-in's device holds and has found.
void check_nothing_left() {
  const test::Library acl("libascendcl.so");
  REQUIRE(CANN_FUNCTION(acl, aclrtSetDevice)(0) == 0);
  std::size_t free = 0;
  std::size_t total = 1;
  CHECK(CANN_FUNCTION(acl, aclrtGetMemInfo)(ACL_HBM_MEM, &free, &total) == 0);
  CHECK(free == total);
  CHECK(CANN_FUNCTION(acl, mla_prolog_finding_count)() == 0);
  REQUIRE(CANN_FUNCTION(acl, aclrtResetDevice)(0) == 0);
}

}  // namespace

TEST_CASE("the stand-in computes what the CPU does") {
  const ascend::Loaded& loaded = ascend::installed_library();
  INFO(loaded.reason);
  REQUIRE(loaded.library != nullptr);
  for (const auto& [w, kv] : {std::pair{0, 0}, {1, 2}, {2, 1}, {2, 3}}) {
    for (const bool query_norm : {false, true}) {
      Computation cpu(w, kv, query_norm);
      Computation device(w, kv, query_norm);
      const Status status = device.run(Backend::ascend);
      INFO("w" << w << "kv" << kv << ": " << message(status));
      if (std::getenv("STUB_PHASE_TWO_STATUS") != nullptr) {
        CHECK(status.rule == Rule::backend_failed);
        CHECK(message(status) == "aclnnMlaPrologV3WeightNz failed with status 561000");
        CHECK(device.memory == cpu.memory);
        continue;
      }
      REQUIRE(status.ok());
      REQUIRE(cpu.run(Backend::automatic).ok());
      CHECK(device.memory == cpu.memory);
    }
  }
  check_nothing_left();
}

TEST_CASE("a device without memory says so, and keeps nothing") {
  if (std::getenv("MLA_PROLOG_DEVICE_MEMORY") == nullptr) MLA_PROLOG_SKIP("runs with a small device");
  Computation computation(0, 0, false);
  const auto before = computation.memory;
  const Status status = computation.run(Backend::ascend);
  CHECK(status.rule == Rule::backend_failed);
  CHECK(message(status) == "aclrtMalloc failed with status 207001");
  CHECK(computation.memory == before);
  check_nothing_left();
}

TEST_CASE("bad values are found before the device is asked") {
  Computation computation(0, 0, false);
  reinterpret_cast<std::int64_t*>(computation.memory.at(TensorId::cache_index).data())[1] = 1000;
  CHECK(computation.run(Backend::ascend).rule == Rule::cache_index_range);
}

TEST_CASE("what a device cannot do is refused by the plan") {
  Computation computation(3, 0, false);
  const Result<Plan> plan = make_plan(computation.problem, {.backend = Backend::ascend});
  REQUIRE(!plan.ok());
  CHECK(plan.error().message.find("needs Ascend950") != std::string::npos);
  Computation other(0, 0, false);
  CHECK(!make_plan(other.problem, {.profile = Profile::ascend950, .backend = Backend::ascend}).ok());
  CHECK(!make_plan(other.problem, {.backend = Backend::ascend, .isa = Isa::scalar}).ok());
}

TEST_CASE("libraries that cannot be used are named with the reason") {
  const std::string home = std::string(MLA_PROLOG_ASCEND_LIB64) + "/..";
  CHECK(ascend::load_library("/nonexistent", true).reason.find("/nonexistent/lib64") != std::string::npos);
  const ascend::Loaded own = ascend::load_library(home, false);
  CHECK(own.library == nullptr);
  CHECK(own.reason.find("emulated") != std::string::npos);
  CHECK(ascend::load_library(home, true).library != nullptr);
  CHECK(ascend::load_library(MLA_PROLOG_STUBS "/bare", true).reason == "libascendcl.so has no aclGetRecentErrMsg");
  CHECK(ascend::load_library(MLA_PROLOG_STUBS "/mute", true).reason.find("version") != std::string::npos);
}

TEST_CASE("the interface changed with 8.5.0.alpha003") {
  for (const char* old : {"8.3.0", "8.5.0.alpha002", "8.5.0.Alpha001", "8.0.RC3", "7.0.0.beta1", "8.4.9"}) {
    INFO(old);
    CHECK(ascend::has_legacy_interface(old));
  }
  for (const char* current :
       {"8.5.0.alpha003", "8.5.0.beta1", "8.5.0.RC1", "8.5.0", "8.5.1", "9.0.0.alpha001", "9.0"}) {
    INFO(current);
    CHECK(!ascend::has_legacy_interface(current));
  }
}

TEST_CASE("the list of backends tells about the device") {
  for (const BackendInfo& info : list_backends()) {
    if (info.backend == Backend::ascend) CHECK((info.available && info.reason.empty()));
  }
}
