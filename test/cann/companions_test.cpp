// What callers need next to the operator: format cast, dynamic quantisation, version queries, tensor and list objects,
// and the status codes of both phases.
#include <cmath>
#include <cstring>

#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_npu_format_cast.h"
#include "mla_prolog_emulation.h"
#include "test/cann/device.hpp"
#include "test/cann/small_op.hpp"
#include "test/catch.hpp"
#include "test/support/sanitizers.hpp"

namespace {

using mla_prolog::test::Device;

/// Device memory with the bytes of a vector.
template <typename T>
struct OnDevice {
  explicit OnDevice(const std::vector<T>& values) : count(values.size()) {
    REQUIRE(aclrtMalloc(&p, count * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    REQUIRE(aclrtMemcpy(p, count * sizeof(T), values.data(), count * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE) == 0);
  }
  ~OnDevice() { CHECK(aclrtFree(p) == 0); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    REQUIRE(aclrtMemcpy(values.data(), count * sizeof(T), p, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST) == 0);
    return values;
  }
  void* p = nullptr;
  std::size_t count;
};

struct TensorHandle {
  TensorHandle(const std::vector<std::int64_t>& view, aclDataType dtype, void* data, aclFormat format = ACL_FORMAT_ND,
               std::vector<std::int64_t> storage = {}) {
    if (storage.empty()) storage = view;
    t = aclCreateTensor(view.data(), view.size(), dtype, nullptr, 0, format, storage.data(), storage.size(), data);
    REQUIRE(t != nullptr);
  }
  ~TensorHandle() { CHECK(aclDestroyTensor(t) == 0); }
  aclTensor* t = nullptr;
};

std::uint16_t bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

float from_bf16(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

}  // namespace

TEST_CASE("format cast: shape, there and back") {
  const Device device;
  constexpr std::int64_t kK = 48;
  constexpr std::int64_t kN = 40;  // not a multiple of the group width: filled up with zeros
  std::vector<std::uint16_t> values(kK * kN);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i + 1);
  const OnDevice<std::uint16_t> nd(values);
  const TensorHandle source({kK, kN}, ACL_BF16, nd.p);

  std::int64_t* shape = nullptr;
  std::uint64_t rank = 0;
  int format = 0;
  REQUIRE(aclnnNpuFormatCastCalculateSizeAndFormat(source.t, 29, -1, &shape, &rank, &format) == 0);
  const std::vector<std::int64_t> storage(shape, shape + rank);
  delete[] shape;
  CHECK(storage == std::vector<std::int64_t>{3, 3, 16, 16});
  CHECK(format == 29);
  REQUIRE(aclnnNpuFormatCastCalculateSizeAndFormat(source.t, 29, ACL_INT8, &shape, &rank, &format) == 0);
  CHECK(std::vector<std::int64_t>(shape, shape + rank) == std::vector<std::int64_t>{2, 3, 16, 32});
  delete[] shape;

  const OnDevice<std::uint16_t> nz(std::vector<std::uint16_t>(3 * 3 * 16 * 16, 0x7777));
  const TensorHandle target({kK, kN}, ACL_BF16, nz.p, ACL_FORMAT_FRACTAL_NZ, storage);
  const auto cast = [&](const aclTensor* from, aclTensor* to) {
    std::uint64_t workspace = 1;
    aclOpExecutor* executor = nullptr;
    REQUIRE(aclnnNpuFormatCastGetWorkspaceSize(from, to, &workspace, &executor) == 0);
    CHECK(workspace == 0);
    REQUIRE(aclnnNpuFormatCast(nullptr, 0, executor, device.stream) == 0);
    REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
  };
  cast(source.t, target.t);
  const auto image = nz.read();
  for (std::int64_t k = 0; k < kK; ++k) {
    for (std::int64_t n = 0; n < 48; ++n) {
      const auto at = static_cast<std::size_t>((n / 16) * kK * 16 + k * 16 + n % 16);
      const std::uint16_t expected = n < kN ? values[static_cast<std::size_t>(k * kN + n)] : std::uint16_t{0};
      if (image[at] != expected) FAIL("k " << k << " n " << n);
    }
  }
  const OnDevice<std::uint16_t> back(std::vector<std::uint16_t>(kK * kN, 0));
  const TensorHandle nd_again({kK, kN}, ACL_BF16, back.p);
  cast(target.t, nd_again.t);
  CHECK(back.read() == values);

  std::uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnNpuFormatCastGetWorkspaceSize(nullptr, target.t, &workspace, &executor) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(aclnnNpuFormatCastGetWorkspaceSize(source.t, nd_again.t, &workspace, &executor) == ACLNN_ERR_PARAM_INVALID);
  CHECK(mla_prolog_finding_count() == 0);
}

TEST_CASE("format cast: sizes that cannot be are refused") {
  const std::int64_t impossible[][2] = {{-64, 32}, {INT64_MAX, INT64_MAX}, {INT64_MAX, 1}, {1LL << 40, 1LL << 40}};
  for (const auto& dims : impossible) {
    aclTensor* tensor = aclCreateTensor(dims, 2, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, dims, 2, nullptr);
    std::int64_t* shape = nullptr;
    std::uint64_t rank = 0;
    int format = 0;
    CHECK(aclnnNpuFormatCastCalculateSizeAndFormat(tensor, 29, -1, &shape, &rank, &format) == 161002);
    CHECK(shape == nullptr);
    CHECK(aclDestroyTensor(tensor) == 0);
  }
}

TEST_CASE("dynamic quantisation by the device's arithmetic", "[quant]") {
  const bool is_950 = std::string(aclrtGetSocName()).rfind("Ascend950", 0) == 0;
  const Device device;
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kWidth = 64;
  for (const bool with_smooth : {false, true}) {
    std::vector<std::uint16_t> x(kRows * kWidth);
    std::vector<std::uint16_t> smooth(kWidth);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = bf16(std::sin(static_cast<float>(i)) * 3);
    std::fill_n(x.begin() + kWidth, kWidth, std::uint16_t{0});  // a zero row
    for (std::size_t i = 0; i < kWidth; ++i) smooth[i] = bf16(0.5F + static_cast<float>(i) / 64);
    const OnDevice<std::uint16_t> x_memory(x);
    const OnDevice<std::uint16_t> smooth_memory(smooth);
    const OnDevice<std::int8_t> y_memory(std::vector<std::int8_t>(x.size(), 99));
    const OnDevice<float> scale_memory(std::vector<float>(kRows, -1));
    const TensorHandle x_tensor({1, kRows, kWidth}, ACL_BF16, x_memory.p);
    const TensorHandle smooth_tensor({kWidth}, ACL_BF16, smooth_memory.p);
    const TensorHandle y_tensor({1, kRows, kWidth}, ACL_INT8, y_memory.p);
    const TensorHandle scale_tensor({1, kRows}, ACL_FLOAT, scale_memory.p);
    std::uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    REQUIRE(aclnnDynamicQuantGetWorkspaceSize(x_tensor.t, with_smooth ? smooth_tensor.t : nullptr, y_tensor.t,
                                              scale_tensor.t, &workspace_bytes, &executor) == 0);
    void* workspace = nullptr;
    if (workspace_bytes > 0) REQUIRE(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    REQUIRE(aclnnDynamicQuant(workspace, workspace_bytes, executor, device.stream) == 0);
    REQUIRE(aclrtSynchronizeStream(device.stream) == 0);
    if (workspace != nullptr) REQUIRE(aclrtFree(workspace) == 0);
    const auto codes = y_memory.read();
    const auto scales = scale_memory.read();
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<float> row(kWidth);
      float amax = 0;
      for (std::size_t i = 0; i < kWidth; ++i) {
        row[i] = from_bf16(x[r * kWidth + i]) * (with_smooth ? from_bf16(smooth[i]) : 1.0F);
        amax = std::max(amax, std::fabs(row[i]));
      }
      const float scale = is_950 ? amax * (1.0F / 127.0F) : amax / 127.0F;
      CHECK(scales[r] == scale);
      const float factor = 127.0F / amax;
      for (std::size_t i = 0; i < kWidth; ++i) {
        const float v = is_950 ? row[i] / scale : row[i] * factor;
        const int expected = std::isnan(v) ? 0 : static_cast<int>(std::nearbyint(v));
        if (codes[r * kWidth + i] != expected) FAIL("row " << r << " column " << i);
      }
    }
  }
  CHECK(mla_prolog_finding_count() == 0);
}

TEST_CASE("dynamic quantisation refuses what it does not take") {
  const TensorHandle x({2, 32}, ACL_BF16, nullptr);
  const TensorHandle x_float({2, 32}, ACL_FLOAT, nullptr);
  const TensorHandle y({2, 32}, ACL_INT8, nullptr);
  const TensorHandle y_e4m3({2, 32}, ACL_FLOAT8_E4M3FN, nullptr);
  const TensorHandle scale({2}, ACL_FLOAT, nullptr);
  const TensorHandle wrong({32}, ACL_FLOAT, nullptr);
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const auto status = [&](const aclTensor* a, const aclTensor* b, const aclTensor* c, const aclTensor* d) {
    return aclnnDynamicQuantGetWorkspaceSize(a, b, c, d, &bytes, &executor);
  };
  CHECK(status(nullptr, nullptr, y.t, scale.t) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(status(x_float.t, nullptr, y.t, scale.t) == ACLNN_ERR_PARAM_INVALID);
  CHECK(status(x.t, nullptr, y_e4m3.t, scale.t) == ACLNN_ERR_PARAM_INVALID);
  CHECK(status(x.t, nullptr, y.t, wrong.t) == ACLNN_ERR_PARAM_INVALID);
  CHECK(status(x.t, wrong.t, y.t, scale.t) == ACLNN_ERR_PARAM_INVALID);
  const char* text = aclGetRecentErrMsg();
  REQUIRE(text != nullptr);
  CHECK(std::string(text).find("smoothScalesOptional") != std::string::npos);
}

TEST_CASE("the version is what the environment says") {
  // ctest sets MLA_PROLOG_CANN_VERSION=8.5.0.alpha003.
  char text[ACL_PKG_VERSION_MAX_SIZE] = {};
  char package[] = "runtime";
  char unknown[] = "nonsense";
  REQUIRE(aclsysGetVersionStr(package, text) == 0);
  CHECK(std::string(text) == "8.5.0.alpha003");
  std::int32_t number = 0;
  REQUIRE(aclsysGetVersionNum(package, &number) == 0);
  CHECK(number == 80000000 + 500000 - 300 + 3);
  CHECK(aclsysGetVersionNum(unknown, &number) == ACL_ERROR_INVALID_FILE);
  CHECK(aclsysGetVersionStr(nullptr, text) == ACL_ERROR_INVALID_PARAM);
  aclCANNPackageVersion version;
  REQUIRE(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version) == 0);
  CHECK(std::string(version.version) == "8.5.0.alpha003");
  CHECK(std::string(version.majorVersion) == "8");
  CHECK(std::string(version.minorVersion) == "5");
  CHECK(aclsysGetCANNVersion(ACL_PKG_NAME_DRIVER, &version) == ACL_ERROR_INVALID_FILE);
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::int32_t patch = 0;
  CHECK(aclrtGetVersion(&major, &minor, &patch) == 0);
  CHECK(major == 1);
  CHECK(std::string(aclrtGetSocName()) == "Ascend910B3");
  CHECK(mla_prolog_is_emulated() == 1);
}

TEST_CASE("data type sizes") {
  CHECK(aclDataTypeSize(ACL_DT_UNDEFINED) == 0);
  CHECK(aclDataTypeSize(ACL_STRING) == 0);
  for (const aclDataType one : {ACL_UINT1, ACL_INT4, ACL_BOOL, ACL_INT8, ACL_UINT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2,
                                ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E8M0}) {
    CHECK(aclDataTypeSize(one) == 1);
  }
  for (const aclDataType two : {ACL_FLOAT16, ACL_BF16, ACL_INT16, ACL_UINT16}) CHECK(aclDataTypeSize(two) == 2);
  for (const aclDataType four : {ACL_FLOAT, ACL_INT32, ACL_UINT32, ACL_COMPLEX32}) CHECK(aclDataTypeSize(four) == 4);
  for (const aclDataType eight : {ACL_INT64, ACL_UINT64, ACL_DOUBLE, ACL_COMPLEX64, ACL_FLOAT4_E2M1}) {
    CHECK(aclDataTypeSize(eight) == 8);
  }
  CHECK(aclDataTypeSize(ACL_COMPLEX128) == 16);
  CHECK(aclFloat16ToFloat(aclFloatToFloat16(1.5F)) == 1.5F);
}

TEST_CASE("tensors tell what they are") {
  const std::vector<std::int64_t> view{2, 3};
  const std::vector<std::int64_t> storage{12};
  const std::vector<std::int64_t> strides{6, 2};
  char memory = 0;
  aclTensor* tensor =
      aclCreateTensor(view.data(), 2, ACL_FLOAT, strides.data(), 5, ACL_FORMAT_NCHW, storage.data(), 1, &memory);
  REQUIRE(tensor != nullptr);
  std::int64_t* dims = nullptr;
  std::uint64_t count = 0;
  REQUIRE(aclGetViewShape(tensor, &dims, &count) == 0);
  CHECK(std::vector<std::int64_t>(dims, dims + count) == view);
  delete[] dims;
  REQUIRE(aclGetViewStrides(tensor, &dims, &count) == 0);
  CHECK(std::vector<std::int64_t>(dims, dims + count) == strides);
  delete[] dims;
  REQUIRE(aclGetStorageShape(tensor, &dims, &count) == 0);
  CHECK(std::vector<std::int64_t>(dims, dims + count) == storage);
  delete[] dims;
  std::int64_t offset = 0;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType dtype = ACL_DT_UNDEFINED;
  void* address = nullptr;
  CHECK((aclGetViewOffset(tensor, &offset) == 0 && offset == 5));
  CHECK((aclGetFormat(tensor, &format) == 0 && format == ACL_FORMAT_NCHW));
  CHECK((aclGetDataType(tensor, &dtype) == 0 && dtype == ACL_FLOAT));
  CHECK((aclGetRawTensorAddr(tensor, &address) == 0 && address == &memory));
  CHECK(aclGetViewShape(nullptr, &dims, &count) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(aclGetDataType(tensor, nullptr) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr) == nullptr);

  aclTensorList* list = aclCreateTensorList(&tensor, 1);
  REQUIRE(list != nullptr);
  CHECK((aclGetTensorListSize(list, &count) == 0 && count == 1));
  CHECK(aclDestroyTensorList(list) == 0);  // and the tensor with it
  CHECK(aclDestroyTensor(nullptr) == 0);

  const std::int64_t ints[] = {1, 2, 3};
  const bool bools[] = {true, false};
  const float floats[] = {1, 2};
  aclIntArray* int_array = aclCreateIntArray(ints, 3);
  aclBoolArray* bool_array = aclCreateBoolArray(bools, 2);
  aclFloatArray* float_array = aclCreateFloatArray(floats, 2);
  CHECK((aclGetIntArraySize(int_array, &count) == 0 && count == 3));
  CHECK((aclGetBoolArraySize(bool_array, &count) == 0 && count == 2));
  CHECK((aclGetFloatArraySize(float_array, &count) == 0 && count == 2));
  CHECK((aclDestroyIntArray(int_array) == 0 && aclDestroyBoolArray(bool_array) == 0 &&
         aclDestroyFloatArray(float_array) == 0));
  float value = 1;
  aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
  aclScalarList* scalars = aclCreateScalarList(&scalar, 1);
  CHECK((aclGetScalarListSize(scalars, &count) == 0 && count == 1));
  CHECK(aclDestroyScalarList(scalars) == 0);
  CHECK(mla_prolog_finding_count() == 0);
}

TEST_CASE("phase two: null and short arguments keep the executor for another try") {
  Device device;
  small_op::Op op;
  REQUIRE(op.phase_one() == 0);
  const auto run = [&](void* workspace, std::uint64_t bytes, aclOpExecutor* executor) {
    return aclnnMlaPrologV3WeightNz(workspace, bytes, executor, device.stream);
  };
  CHECK(run(op.workspace, op.workspace_bytes, nullptr) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(run(nullptr, op.workspace_bytes, op.executor) == ACLNN_ERR_PARAM_NULLPTR);
  CHECK(mla_prolog_finding_count() == 0);
  CHECK(run(nullptr, 0, op.executor) == ACLNN_ERR_PARAM_INVALID);
  CHECK(run(op.workspace, op.workspace_bytes - 1, op.executor) == ACLNN_ERR_PARAM_INVALID);
  device.expected_findings = 2;
  CHECK(mla_prolog_finding_count() == device.findings + device.expected_findings);
  CHECK(run(op.workspace, op.workspace_bytes, op.executor) == 0);
  CHECK(aclrtSynchronizeStream(device.stream) == 0);
}

TEST_CASE("phase one refuses what cannot be, and keeps nothing of it") {
  const Device device;  // an executor that is kept would be a leak
  const OnDevice<std::uint16_t> memory(std::vector<std::uint16_t>(64 * 64));
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const TensorHandle nd({64, 64}, ACL_BF16, memory.p);
  for (const std::int64_t c0 :
       {std::int64_t{0}, std::int64_t{-16}, std::int64_t{48}, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    INFO("groups of " << c0);
    const TensorHandle nz({64, 64}, ACL_BF16, memory.p, ACL_FORMAT_FRACTAL_NZ,
                          {c0 <= 0 ? 1 : (63 + c0) / c0, 4, 16, c0});
    CHECK(aclnnNpuFormatCastGetWorkspaceSize(nd.t, nz.t, &bytes, &executor) == ACLNN_ERR_PARAM_INVALID);
    CHECK(aclnnNpuFormatCastGetWorkspaceSize(nz.t, nd.t, &bytes, &executor) == ACLNN_ERR_PARAM_INVALID);
  }
  const auto quantise = [&](std::int64_t rows, std::int64_t width) {
    const TensorHandle x({rows, width}, ACL_BF16, memory.p);
    const TensorHandle y({rows, width}, ACL_INT8, memory.p);
    const TensorHandle scale({rows}, ACL_FLOAT, memory.p);
    return aclnnDynamicQuantGetWorkspaceSize(x.t, nullptr, y.t, scale.t, &bytes, &executor);
  };
  constexpr std::int64_t kFar = INT64_MAX;
  const std::int64_t impossible[][2] = {
      {-3, 4}, {3, -4}, {kFar, kFar}, {1, kFar}, {1, 1LL << 62}, {1LL << 32, 1LL << 32}, {1LL << 31, 1LL << 31}};
  for (const auto& dims : impossible) {
    INFO(dims[0] << " x " << dims[1]);
    CHECK(quantise(dims[0], dims[1]) == ACLNN_ERR_PARAM_INVALID);
    const char* text = aclGetRecentErrMsg();
    REQUIRE(text != nullptr);
    CHECK(std::string(text).find("too many elements to count") != std::string::npos);
  }
#if !(MLA_PROLOG_TEST_ASAN || MLA_PROLOG_TEST_TSAN)  // with them memory that cannot be had ends the program
  // A row in float32 that no machine can hold.
  CHECK(quantise(1, std::int64_t{1} << 50) == ACLNN_ERR_INNER_CREATE_EXECUTOR);
#endif
  CHECK(executor == nullptr);
}
