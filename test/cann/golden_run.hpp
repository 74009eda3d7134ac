// A golden case run through the C interface.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "mla_prolog/convert.hpp"
#include "test/cann/golden.hpp"
#include "test/cann/operator_call.hpp"
#include "test/catch.hpp"

namespace mla_prolog::test {

inline bool on_950() { return std::string(Cann::instance().soc_name()).rfind("Ascend950", 0) == 0; }

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

/// How the golden cases' tensors are described, and which operator is called.
struct Layout {
  ApiVersion api = ApiVersion::v3;
  bool weights_2d = false;                   ///< NZ weights by their logical shape, as torch has them
  std::int64_t offset = 0;                   ///< elements before the view
  bool strided_x = false;                    ///< token_x as every other element of its memory
  bool strided_caches = false;               ///< caches too; the gaps must stay as they are
  std::int64_t strides_of_dense_caches = 1;  ///< what dense caches claim for the step of their last dimension
};

struct DeviceTensor {
  void* memory = nullptr;
  std::size_t lead = 0;  ///< bytes before the view
  std::size_t step = 1;  ///< memory elements an element
};

class GoldenRun {
 public:
  GoldenRun(const Golden& golden, const Layout& layout) : golden_(golden), layout_(layout) {
    if (layout.api != ApiVersion::v3) as_v2();
    call_.attributes = golden_.attributes;
    for (const auto& [id, tensor] : golden_.inputs) add(id, tensor.shape, &tensor.bytes);
    for (const auto& [id, tensor] : golden_.expected) {
      if (!is_cache(id)) add(id, tensor.shape, nullptr);
    }
    if (golden_.expected.count(TensorId::kr_cache) == 0 && golden_.inputs.count(TensorId::kr_cache) == 0) {
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
    const aclnnStatus status = call_.phase_one(layout_.api, &bytes, &executor);
    const char* text = status == 0 ? nullptr : cann.error();
    INFO(golden_.name << ": " << (text == nullptr ? "" : text));
    REQUIRE(status == 0);
    void* workspace = nullptr;
    if (bytes > 0) REQUIRE(cann.malloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    REQUIRE(call_.phase_two(layout_.api, workspace, bytes, executor, stream) == 0);
    REQUIRE(cann.synchronize(stream) == 0);
    if (workspace != nullptr) REQUIRE(cann.free(workspace) == 0);
  }

  void compare() {
    for (const auto& [id, expected] : golden_.expected) {
      if (expected.bytes.empty()) continue;
      const DeviceTensor& tensor = memory_.at(id);
      const std::size_t element = element_size(golden_dtype(golden_, id));
      std::vector<std::byte> image(expected.bytes.size() * tensor.step);
      REQUIRE(Cann::instance().memcpy(image.data(), image.size(), static_cast<char*>(tensor.memory) + tensor.lead,
                                      image.size(), ACL_MEMCPY_DEVICE_TO_HOST) == 0);
      std::vector<std::byte> actual;
      bool gaps_intact = true;
      for (std::size_t at = 0; at < image.size(); at += element) {
        const bool gap = at / element % tensor.step != 0;
        if (!gap)
          actual.insert(actual.end(), image.begin() + static_cast<std::ptrdiff_t>(at),
                        image.begin() + static_cast<std::ptrdiff_t>(at + element));
        if (gap) gaps_intact = gaps_intact && image[at] == kGap;
      }
      INFO(golden_.name << ", " << to_string(id));
      CHECK(actual == expected.bytes);
      CHECK(gaps_intact);
    }
  }

 private:
  static constexpr std::byte kGap{0x5A};

  /// V1 and V2 take the per-tensor scale 512 times and do not give the normalised query.
  void as_v2() {
    golden_.expected.erase(TensorId::query_norm);
    golden_.expected.erase(TensorId::dequant_scale_q_norm);
    const auto scale = golden_.inputs.find(TensorId::quant_scale_ckv);
    if (golden_.attributes.kv_cache_quant_mode != 1 || scale == golden_.inputs.end()) return;
    GoldenTensor& tensor = scale->second;
    const std::vector<std::byte> one = tensor.bytes;
    for (int i = 1; i < kHckv; ++i) tensor.bytes.insert(tensor.bytes.end(), one.begin(), one.end());
    tensor.shape = {1, kHckv};
  }

  void add(TensorId id, const std::vector<std::int64_t>& shape, const std::vector<std::byte>* bytes) {
    const Cann& cann = Cann::instance();
    const DType dtype = golden_dtype(golden_, id);
    const std::size_t element = element_size(dtype);
    const bool nz = id == TensorId::weight_dq || id == TensorId::weight_uq_qr || id == TensorId::weight_dkv_kr;
    std::size_t count = 1;
    for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);

    DeviceTensor tensor;
    tensor.lead = static_cast<std::size_t>(layout_.offset) * element;
    tensor.step = (layout_.strided_x && id == TensorId::token_x) || (layout_.strided_caches && is_cache(id)) ? 2 : 1;
    std::vector<std::byte> image(tensor.lead + count * element * tensor.step, kGap);
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
    const std::vector<std::int64_t> storage = nz ? nz_shape(dtype, shape[0], shape[1]) : shape;
    const std::vector<std::int64_t> view = nz && !layout_.weights_2d ? storage : shape;
    std::vector<std::int64_t> strides(view.size());
    auto stride = static_cast<std::int64_t>(tensor.step) * (is_cache(id) ? layout_.strides_of_dense_caches : 1);
    for (std::size_t i = view.size(); i-- > 0; stride *= view[i]) strides[i] = stride;
    call_[id] =
        cann.create_tensor(view.data(), view.size(), static_cast<aclDataType>(dtype), strides.data(), layout_.offset,
                           nz ? ACL_FORMAT_FRACTAL_NZ : ACL_FORMAT_ND, storage.data(), storage.size(), tensor.memory);
    REQUIRE(call_[id] != nullptr);
    memory_[id] = tensor;
  }

  Golden golden_;
  Layout layout_;
  OperatorCall call_;
  std::map<TensorId, DeviceTensor> memory_;
};

inline std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = shared_dir() / "golden";
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace mla_prolog::test
