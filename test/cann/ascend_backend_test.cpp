// The ascend backend, with the emulated CANN as stand-in for a device, and with libraries that lack something. The
// device is the process's: ctest runs the cases by tag, in the environment that each tag stands for.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
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

std::uint64_t findings() { return CANN_FUNCTION(test::Library("libascendcl.so"), mla_prolog_finding_count)(); }

/// The calling thread's device; at its end, the proof that a computation left nothing there.
class DeviceInUse {
 public:
  DeviceInUse() {
    const test::Cann& cann = test::Cann::instance();
    const int status = cann.init(nullptr);
    REQUIRE((status == 0 || status == ACL_ERROR_REPEAT_INITIALIZE));
    REQUIRE(cann.set_device(0) == 0);
  }
  ~DeviceInUse() {
    std::size_t free = 0;
    std::size_t total = 1;
    CHECK(CANN_FUNCTION(test::Cann::instance().acl, aclrtGetMemInfo)(ACL_HBM_MEM, &free, &total) == 0);
    CHECK(free == total);
    CHECK(findings() == before_ + expected_findings);
    CHECK(test::Cann::instance().reset_device(0) == 0);
  }
  DeviceInUse(const DeviceInUse&) = delete;
  DeviceInUse& operator=(const DeviceInUse&) = delete;

  std::uint64_t expected_findings = 0;

 private:
  std::uint64_t before_ = findings();
};

/// The tensors of a computation in device memory.
class OnDevice {
 public:
  explicit OnDevice(const Computation& computation) {
    const test::Cann& cann = test::Cann::instance();
    for (const auto& [id, bytes] : computation.memory) {
      REQUIRE(cann.malloc(&memory_[id], bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST) == 0);
      REQUIRE(cann.memcpy(memory_[id], bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE) == 0);
      tensors.set(id, memory_[id]);
    }
  }
  ~OnDevice() {
    for (const auto& [id, data] : memory_) CHECK(test::Cann::instance().free(data) == 0);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  void copy_to(Computation& computation) const {
    for (auto& [id, bytes] : computation.memory) {
      REQUIRE(test::Cann::instance().memcpy(bytes.data(), bytes.size(), memory_.at(id), bytes.size(),
                                            ACL_MEMCPY_DEVICE_TO_HOST) == 0);
    }
  }

  Tensors tensors;

 private:
  std::map<TensorId, void*> memory_;
};

/// A CANN of which something is missing: folders of links to the stand-in's libraries.
class Incomplete {
 public:
  static constexpr std::array<const char*, 6> kAll{"libmla_prolog_cann.so", "libascendcl.so",          "libacl_rt.so",
                                                   "libnnopbase.so",        "libopapi_transformer.so", "libopapi.so"};

  Incomplete() { std::filesystem::remove_all(root_); }
  ~Incomplete() { std::filesystem::remove_all(root_); }
  Incomplete(const Incomplete&) = delete;
  Incomplete& operator=(const Incomplete&) = delete;

  ascend::Loaded load_without_libraries(const std::set<std::string>& without) {
    return ascend::load_library(make(without), true);
  }

  /// Of the library there is a copy in which the symbol has another name.
  ascend::Loaded load_without_symbol(const std::string& library, const std::string& symbol) {
    const std::filesystem::path home = make({library});
    std::ifstream in(std::filesystem::path(MLA_PROLOG_ASCEND_LIB64) / library, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string name = std::string(1, '\0') + symbol + std::string(1, '\0');
    std::size_t found = 0;
    for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at + 1), ++found) {
      bytes[at + 1] = 'X';
    }
    REQUIRE(found > 0);
    std::ofstream(home / "lib64" / library, std::ios::binary) << bytes;
    return ascend::load_library(home, true);
  }

 private:
  /// A new folder each time: the dynamic linker knows a library by its path.
  std::filesystem::path make(const std::set<std::string>& without) {
    const std::filesystem::path home = root_ / std::to_string(++count_);
    std::filesystem::create_directories(home / "lib64");
    for (const char* name : kAll) {
      if (without.count(name) != 0) continue;
      std::filesystem::create_symlink(std::filesystem::path(MLA_PROLOG_ASCEND_LIB64) / name, home / "lib64" / name);
    }
    return home;
  }

  const std::filesystem::path root_{MLA_PROLOG_STUBS "/incomplete"};
  static inline int count_ = 0;
};

Status run_on_device(const Computation& computation, const OnDevice& device) {
  const Result<Plan> plan = make_plan(computation.problem, {.memory = Memory::device});
  if (!plan.ok()) FAIL(plan.error().message);
  CHECK(plan->backend() == Backend::ascend);
  CHECK(plan->workspace_bytes() == 0);
  return run(*plan, device.tensors, nullptr, 0);
}

template <typename Test>
void for_each_scenario(Test&& test) {
  for (const auto& [w, kv] : {std::pair{0, 0}, {1, 2}, {2, 1}, {2, 3}}) {
    for (const bool query_norm : {false, true}) {
      INFO("w" << w << "kv" << kv << ", query_norm " << query_norm);
      test(w, kv, query_norm);
    }
  }
}

}  // namespace

TEST_CASE("the stand-in computes what the CPU does", "[stand_in]") {
  const ascend::Loaded& loaded = ascend::installed_library();
  INFO(loaded.reason);
  REQUIRE(loaded.library != nullptr);
  const DeviceInUse nothing_left;
  for_each_scenario([](int w, int kv, bool query_norm) {
    Computation cpu(w, kv, query_norm);
    Computation device(w, kv, query_norm);
    const Status status = device.run(Backend::ascend);
    INFO(message(status));
    REQUIRE(status.ok());
    REQUIRE(cpu.run(Backend::automatic).ok());
    CHECK(device.memory == cpu.memory);
  });
}

TEST_CASE("automatic takes the device for tensors that are in its memory", "[stand_in]") {
  const DeviceInUse nothing_left;
  for_each_scenario([](int w, int kv, bool query_norm) {
    Computation cpu(w, kv, query_norm);
    Computation result(w, kv, query_norm);
    const OnDevice device(result);
    const Status status = run_on_device(result, device);
    INFO(message(status));
    REQUIRE(status.ok());
    device.copy_to(result);
    REQUIRE(cpu.run(Backend::automatic).ok());
    CHECK(result.memory == cpu.memory);
  });
}

TEST_CASE("automatic leaves tensors in host memory to the CPU, device or not", "[device]") {
  const Result<Plan> plan = make_plan(Computation(0, 0, false).problem);
  REQUIRE(plan.ok());
  CHECK(plan->backend() != Backend::ascend);
}

TEST_CASE("the other backends refuse tensors in device memory", "[device]") {
  const Problem problem = Computation(0, 0, false).problem;
  for (const Backend backend : {Backend::reference, Backend::cpu}) {
    const Result<Plan> plan = make_plan(problem, {.backend = backend, .memory = Memory::device});
    REQUIRE(!plan.ok());
    CHECK(plan.error().status.rule == Rule::option_unavailable);
    CHECK(plan.error().message.find("device memory") != std::string::npos);
  }
}

TEST_CASE("memory that does not exist is no option", "[device]") {
  const Result<Plan> plan = make_plan(Computation(0, 0, false).problem, {.memory = static_cast<Memory>(7)});
  REQUIRE(!plan.ok());
  CHECK(plan.error().message == "memory: 7 is no value of this option");
}

TEST_CASE("a device pointer that is missing is found before the device is asked", "[device]") {
  DeviceInUse nothing_left;
  const Computation computation(0, 0, false);
  OnDevice device(computation);
  device.tensors.weight_uk = nullptr;
  CHECK(run_on_device(computation, device).rule == Rule::pointer_null);
}

TEST_CASE("a wrong cache index in device memory is the device's finding, and nothing is kept", "[device]") {
  DeviceInUse nothing_left;
  nothing_left.expected_findings = 1;
  Computation computation(0, 0, false);
  reinterpret_cast<std::int64_t*>(computation.memory.at(TensorId::cache_index).data())[1] = 1000;
  const OnDevice device(computation);
  const Status status = run_on_device(computation, device);
  CHECK(status.rule == Rule::backend_failed);
  CHECK(message(status).find("aclrtSynchronizeStream (aclnnMlaPrologV3WeightNz: ") == 0);
  CHECK(message(status).find("token 1 has slot or block 1000") != std::string::npos);
  CHECK(message(status).find(") failed with status 507015") != std::string::npos);
}

TEST_CASE("failures are told with their text, up to a thousand different ones", "[device]") {
  DeviceInUse nothing_left;
  Computation computation(0, 0, false);
  std::map<int, Status> kept;
  const auto wrong_slot = [](int i) { return 1000 + i; };
  const auto fail = [&](int i) {
    reinterpret_cast<std::int64_t*>(computation.memory.at(TensorId::cache_index).data())[1] = wrong_slot(i);
    const OnDevice device(computation);
    ++nothing_left.expected_findings;
    return run_on_device(computation, device);
  };
  for (int i = 0; i < 1001; ++i) kept[i] = fail(i);
  const auto has_text = [&](int i) {
    return message(kept[i]).find("slot or block " + std::to_string(wrong_slot(i))) != std::string::npos;
  };
  // Other tests may have failed with some before.
  for (int i = 0; i < 900; ++i) CHECK(has_text(i));
  CHECK(message(kept[1000]) == "aclrtSynchronizeStream failed with status 507015");
  kept[5] = fail(5);
  CHECK(has_text(5));
}

TEST_CASE("a failing phase two is reported, and nothing is written or kept", "[phase_two_error]") {
  const DeviceInUse nothing_left;
  for_each_scenario([](int w, int kv, bool query_norm) {
    Computation computation(w, kv, query_norm);
    const auto before = computation.memory;
    const Status status = computation.run(Backend::ascend);
    CHECK(status.rule == Rule::backend_failed);
    CHECK(message(status) == "aclnnMlaPrologV3WeightNz failed with status 561000");
    CHECK(computation.memory == before);
    const OnDevice device(computation);
    CHECK(message(run_on_device(computation, device)) == "aclnnMlaPrologV3WeightNz failed with status 561000");
  });
}

TEST_CASE("a device without memory says so, and keeps nothing", "[small]") {
  const DeviceInUse nothing_left;
  Computation computation(0, 0, false);
  const auto before = computation.memory;
  const Status status = computation.run(Backend::ascend);
  CHECK(status.rule == Rule::backend_failed);
  CHECK(message(status).find("aclrtMalloc (aclrtMalloc returned 207001: ") == 0);
  CHECK(message(status).find("bytes of device memory are in use) failed with status 207001") != std::string::npos);
  CHECK(computation.memory == before);
}

TEST_CASE("without a device, tensors in its memory are refused with the reason", "[absent]") {
  const Problem problem = Computation(0, 0, false).problem;
  for (const Backend backend : {Backend::automatic, Backend::ascend}) {
    const Result<Plan> plan = make_plan(problem, {.backend = backend, .memory = Memory::device});
    REQUIRE(!plan.ok());
    CHECK(plan.error().status.rule == Rule::option_unavailable);
    CHECK(plan.error().message.find("backend ascend: /nonexistent/lib64") == 0);
  }
  CHECK(make_plan(problem).ok());
  for (const BackendInfo& info : list_backends()) {
    if (info.backend == Backend::ascend) CHECK((!info.available && !info.reason.empty()));
  }
}

TEST_CASE("bad values are found before the device is asked", "[device]") {
  Computation computation(0, 0, false);
  reinterpret_cast<std::int64_t*>(computation.memory.at(TensorId::cache_index).data())[1] = 1000;
  CHECK(computation.run(Backend::ascend).rule == Rule::cache_index_range);
}

TEST_CASE("what a device cannot do is refused by the plan", "[device]") {
  Computation computation(3, 0, false);
  const Result<Plan> plan = make_plan(computation.problem, {.backend = Backend::ascend});
  REQUIRE(!plan.ok());
  CHECK(plan.error().message.find("needs Ascend950") != std::string::npos);
  Computation other(0, 0, false);
  CHECK(!make_plan(other.problem, {.profile = Profile::ascend950, .backend = Backend::ascend}).ok());
  CHECK(!make_plan(other.problem, {.backend = Backend::ascend, .isa = Isa::scalar}).ok());
}

TEST_CASE("libraries that cannot be used are named with the reason", "[device]") {
  const std::string home = std::string(MLA_PROLOG_ASCEND_LIB64) + "/..";
  CHECK(ascend::load_library("/nonexistent", true).reason.find("/nonexistent/lib64") != std::string::npos);
  const ascend::Loaded own = ascend::load_library(home, false);
  CHECK(own.library == nullptr);
  CHECK(own.reason.find("emulated") != std::string::npos);
  CHECK(ascend::load_library(home, true).library != nullptr);
  CHECK(ascend::load_library(MLA_PROLOG_STUBS "/bare", true).reason == "libascendcl.so has no aclGetRecentErrMsg");
  CHECK(ascend::load_library(MLA_PROLOG_STUBS "/mute", true).reason.find("version") != std::string::npos);
}

TEST_CASE("each library that is missing is named", "[device]") {
  REQUIRE(ascend::load_library(std::string(MLA_PROLOG_ASCEND_LIB64) + "/..", true).library != nullptr);
  Incomplete cann;
  // Two libraries have another that does as well.
  for (const char* name : {"libascendcl.so", "libacl_rt.so", "libopapi_transformer.so", "libopapi.so"}) {
    const ascend::Loaded loaded = cann.load_without_libraries({name});
    INFO(name << ": " << loaded.reason);
    CHECK(loaded.library != nullptr);
  }
  for (const std::set<std::string>& names : {std::set<std::string>{"libascendcl.so", "libacl_rt.so"},
                                             {"libnnopbase.so"},
                                             {"libopapi_transformer.so", "libopapi.so"}}) {
    const ascend::Loaded loaded = cann.load_without_libraries(names);
    CHECK(loaded.library == nullptr);
    INFO(loaded.reason);
    for (const char* name : Incomplete::kAll) {
      CHECK((loaded.reason.find(std::string("/lib64/") + name) != std::string::npos) == (names.count(name) != 0));
    }
  }
}

TEST_CASE("each symbol that is missing is named with its library", "[device]") {
  const std::map<std::string, std::vector<std::string>> needed{
      {"libascendcl.so",
       {"aclInit", "aclGetRecentErrMsg", "aclrtGetDevice", "aclrtSetDevice", "aclrtResetDevice", "aclrtGetSocName",
        "aclrtCreateStream", "aclrtDestroyStream", "aclrtSynchronizeStream", "aclrtMalloc", "aclrtFree",
        "aclrtMemcpy"}},
      {"libnnopbase.so", {"aclCreateTensor", "aclDestroyTensor"}},
      {"libopapi_transformer.so", {"aclnnMlaPrologV3WeightNzGetWorkspaceSize", "aclnnMlaPrologV3WeightNz"}}};
  Incomplete cann;
  for (const auto& [library, symbols] : needed) {
    for (const std::string& symbol : symbols) {
      const ascend::Loaded loaded = cann.load_without_symbol(library, symbol);
      CHECK(loaded.library == nullptr);
      CHECK(loaded.reason == library + " has no " + symbol);
    }
  }
  // These not every CANN has.
  for (const char* symbol : {"aclsysGetVersionStr", "aclsysGetCANNVersion"}) {
    CHECK(cann.load_without_symbol("libascendcl.so", symbol).library != nullptr);
  }
  CHECK(cann.load_without_symbol("libnnopbase.so", "aclDestroyAclOpExecutor").library != nullptr);
}

TEST_CASE("the interface changed with 8.5.0.alpha003", "[device]") {
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

TEST_CASE("the list of backends tells about the device", "[device]") {
  for (const BackendInfo& info : list_backends()) {
    if (info.backend == Backend::ascend) CHECK((info.available && info.reason.empty()));
  }
}
