// All validation and golden cases through the C interface of the dlopened libraries. The SoC is the process's
// (MLA_PROLOG_SOC): ctest runs this once for each.
#include <algorithm>
#include <cstring>

#include "mla_prolog/convert.hpp"
#include "test/cann/golden.hpp"
#include "test/cann/v3_call.hpp"
#include "test/catch.hpp"
#include "tools/cases/validation_case.hpp"

using namespace mla_prolog;
using test::Cann;
using test::V3Call;

namespace {

bool on_950() { return std::string(Cann::instance().soc_name()).rfind("Ascend950", 0) == 0; }

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

/// A device with a stream for the duration of a test.
struct Device {
  Device() {
    const Cann& cann = Cann::instance();
    REQUIRE(cann.init(nullptr) == 0);
    REQUIRE(cann.set_device(0) == 0);
    REQUIRE(cann.create_stream(&stream) == 0);
  }
  ~Device() {
    const Cann& cann = Cann::instance();
    CHECK(cann.destroy_stream(stream) == 0);
    CHECK(cann.reset_device(0) == 0);
    CHECK(cann.finalize() == 0);
  }
  aclrtStream stream = nullptr;
};

/// How the golden cases' tensors are described.
struct Layout {
  bool weights_2d = false;  ///< NZ weights by their logical shape, as torch has them
  std::int64_t offset = 0;  ///< elements before the view
  bool strided_x = false;   ///< token_x as every other element of its memory
};

struct DeviceTensor {
  void* memory = nullptr;
  std::size_t lead = 0;  ///< bytes before the view
  std::size_t step = 1;  ///< memory elements an element
};

class GoldenRun {
 public:
  GoldenRun(const test::Golden& golden, const Layout& layout) : golden_(golden), layout_(layout) {
    call_.attributes = golden.attributes;
    for (const auto& [id, tensor] : golden.inputs) add(id, tensor.shape, &tensor.bytes);
    for (const auto& [id, tensor] : golden.expected) {
      if (!is_cache(id)) add(id, tensor.shape, nullptr);
    }
    if (golden.expected.count(TensorId::kr_cache) == 0 && golden.inputs.count(TensorId::kr_cache) == 0) {
      add(TensorId::kr_cache, {0}, nullptr);
    }
  }
  ~GoldenRun() {
    call_.destroy_tensors();
    for (const auto& [id, tensor] : memory_) {
      if (tensor.memory != nullptr) CHECK(Cann::instance().free(tensor.memory) == 0);
    }
  }

  void run(aclrtStream stream) {
    const Cann& cann = Cann::instance();
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = call_.phase_one(&bytes, &executor);
    const char* text = status == 0 ? nullptr : cann.error();
    INFO(golden_.name << ": " << (text == nullptr ? "" : text));
    REQUIRE(status == 0);
    void* workspace = nullptr;
    if (bytes > 0) REQUIRE(cann.malloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    REQUIRE(cann.v3_run(workspace, bytes, executor, stream) == 0);
    REQUIRE(cann.synchronize(stream) == 0);
    if (workspace != nullptr) REQUIRE(cann.free(workspace) == 0);
  }

  void compare() {
    for (const auto& [id, expected] : golden_.expected) {
      if (expected.bytes.empty()) continue;
      const DeviceTensor& tensor = memory_.at(id);
      std::vector<std::byte> actual(expected.bytes.size());
      REQUIRE(Cann::instance().memcpy(actual.data(), actual.size(), static_cast<char*>(tensor.memory) + tensor.lead,
                                      actual.size(), ACL_MEMCPY_DEVICE_TO_HOST) == 0);
      INFO(golden_.name << ", " << to_string(id));
      CHECK(std::memcmp(actual.data(), expected.bytes.data(), actual.size()) == 0);
    }
  }

 private:
  void add(TensorId id, const std::vector<std::int64_t>& shape, const std::vector<std::byte>* bytes) {
    const Cann& cann = Cann::instance();
    const DType dtype = test::golden_dtype(golden_, id);
    const std::size_t element = element_size(dtype);
    const bool nz = id == TensorId::weight_dq || id == TensorId::weight_uq_qr || id == TensorId::weight_dkv_kr;
    std::size_t count = 1;
    for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);

    DeviceTensor tensor;
    tensor.lead = static_cast<std::size_t>(layout_.offset) * element;
    tensor.step = layout_.strided_x && id == TensorId::token_x ? 2 : 1;
    std::vector<std::byte> image(tensor.lead + count * element * tensor.step, std::byte{0x5A});
    if (bytes != nullptr && count > 0) {
      std::vector<std::byte> dense = *bytes;
      if (nz) {
        const TensorDesc nd = TensorDesc::dense(dtype, shape);
        REQUIRE(format_cast({nd, bytes->data()}, {TensorDesc::nz(dtype, shape[0], shape[1]), dense.data()}).ok());
      }
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(image.data() + tensor.lead + i * tensor.step * element, dense.data() + i * element, element);
      }
    }
    if (count > 0) {
      REQUIRE(cann.malloc(&tensor.memory, image.size(), ACL_MEM_MALLOC_HUGE_FIRST) == 0);
      REQUIRE(cann.memcpy(tensor.memory, image.size(), image.data(), image.size(), ACL_MEMCPY_HOST_TO_DEVICE) == 0);
    }
    const std::vector<std::int64_t> storage = nz ? test::nz_shape(dtype, shape[0], shape[1]) : shape;
    const std::vector<std::int64_t> view = nz && !layout_.weights_2d ? storage : shape;
    std::vector<std::int64_t> strides(view.size());
    auto stride = static_cast<std::int64_t>(tensor.step);
    for (std::size_t i = view.size(); i-- > 0; stride *= view[i]) strides[i] = stride;
    call_[id] =
        cann.create_tensor(view.data(), view.size(), static_cast<aclDataType>(dtype), strides.data(), layout_.offset,
                           nz ? ACL_FORMAT_FRACTAL_NZ : ACL_FORMAT_ND, storage.data(), storage.size(), tensor.memory);
    REQUIRE(call_[id] != nullptr);
    memory_[id] = tensor;
  }

  const test::Golden& golden_;
  Layout layout_;
  V3Call call_;
  std::map<TensorId, DeviceTensor> memory_;
};

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = test::shared_dir() / "golden";
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run_golden_cases(const Layout& layout) {
  const auto files = golden_files();
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
    V3Call call;
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
