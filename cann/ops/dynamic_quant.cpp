// aclnnDynamicQuant: each row of x, widened to float32 and multiplied by smooth, gets the scale amax/127 and int8
// codes, by the arithmetic of the emulated device (numerics.md 5.2).
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cann/meta/buffer_pool.hpp"
#include "cann/meta/executor.hpp"
#include "cann/ops/apart.hpp"
#include "cann/ops/conversions.hpp"
#include "cann/ops/staging.hpp"
#include "cann/runtime/runtime.hpp"
#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"

namespace mla_prolog::cann {
namespace {

constexpr const char* kFamily = "aclnnDynamicQuant";
/// The part of a workspace that every operator of the device's library asks for.
constexpr std::uint64_t kLibraryWorkspace = std::uint64_t{16} << 20;

class DynamicQuantOperation final : public Operation {
 public:
  DynamicQuantOperation(const TensorDesc& x, bool smooth)
      : x_(x),
        width_(x.shape[static_cast<std::size_t>(x.rank - 1)]),
        rows_(x.numel() / width_),
        smooth_(smooth ? static_cast<std::size_t>(width_) * sizeof(float) : 0),
        row_(static_cast<std::size_t>(width_) * sizeof(float)),
        dense_(x.is_dense() ? 0 : static_cast<std::size_t>(x.numel()) * element_size(x.dtype)) {}

  int run(const Launch& launch, std::string& error) override {
    const ApartInputs inputs(launch);
    if (inputs.refused(error)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    const auto* x = static_cast<const std::byte*>(inputs[0]);
    if (dense_.size() > 0) {
      gather(x_, x, dense_.data());
      x = dense_.data();
    }
    const auto width = static_cast<std::size_t>(width_);
    ConstTensorView smooth;
    if (smooth_.size() > 0) {
      auto* values = reinterpret_cast<float*>(smooth_.data());
      decode(x_.dtype, inputs[1], width, values);
      smooth = {TensorDesc::dense(DType::float32, {width_}), values};
    }
    auto* codes = static_cast<std::int8_t*>(launch.data[2]);
    auto* scale = static_cast<float*>(launch.data[3]);
    // Outputs may overlap one another, too.
    std::vector<std::int8_t> codes_apart;
    std::vector<float> scale_apart;
    if (!inputs.text().empty()) {
      codes_apart.resize(static_cast<std::size_t>(rows_) * width);
      scale_apart.resize(static_cast<std::size_t>(rows_));
      codes = codes_apart.data();
      scale = scale_apart.data();
    }
    auto* row = reinterpret_cast<float*>(row_.data());
    for (std::int64_t r = 0; r < rows_; ++r) {
      decode(x_.dtype, x + static_cast<std::size_t>(r) * width * element_size(x_.dtype), width, row);
      const Status status =
          quantize_per_token({TensorDesc::dense(DType::float32, {1, width_}), row}, smooth, device_profile(),
                             {TensorDesc::dense(DType::int8, {1, width_}), codes + r * width_},
                             {TensorDesc::dense(DType::float32, {1}), scale + r});
      if (!status.ok()) {
        error = std::string(kFamily) + ": " + message(status);
        return ACL_ERROR_RT_AICORE_EXCEPTION;
      }
    }
    if (!codes_apart.empty()) {
      std::memcpy(launch.data[2], codes, codes_apart.size());
      std::memcpy(launch.data[3], scale, scale_apart.size() * sizeof(float));
    }
    return ACL_SUCCESS;
  }

 private:
  TensorDesc x_;
  std::int64_t width_;
  std::int64_t rows_;
  Buffer smooth_;
  Buffer row_;
  Buffer dense_;
};

std::string refusal(const TensorDesc& x, const TensorDesc& smooth, const TensorDesc& y, const TensorDesc& scale) {
  if (x.dtype != DType::float16 && x.dtype != DType::bf16) return "x must be FLOAT16 or BF16, is " + x.to_string();
  if (x.rank < 2 || x.rank > kMaxRank) return "x must have 2 to 8 dimensions, is " + x.to_string();
  if (y.dtype != DType::int8) return "yOut must be INT8, is " + y.to_string();
  if (scale.dtype != DType::float32) return "scaleOut must be FLOAT, is " + scale.to_string();
  const auto rank = static_cast<std::size_t>(x.rank);
  if (y.rank != x.rank || y.shape != x.shape) return "yOut must have the shape of x, is " + y.to_string();
  if (scale.rank != x.rank - 1 || !std::equal(x.shape.begin(), x.shape.begin() + rank - 1, scale.shape.begin())) {
    return "scaleOut must have the shape of x without its last dimension, is " + scale.to_string();
  }
  if (smooth.present() && (smooth.dtype != x.dtype || smooth.rank != 1 || smooth.shape[0] != x.shape[rank - 1])) {
    return "smoothScalesOptional must have the data type of x and one value a column, is " + smooth.to_string();
  }
  if (smooth.present() && !smooth.is_dense()) return "smoothScalesOptional must be dense";
  return {};
}

}  // namespace

namespace api {

aclnnStatus dynamic_quant_phase_one(const Site& site, const aclTensor* x, const aclTensor* smooth, const aclTensor* y,
                                    const aclTensor* scale, std::uint64_t* workspace_bytes,
                                    aclOpExecutor** result) noexcept {
  return guarded([&]() -> int {
    if (x == nullptr || y == nullptr || scale == nullptr || workspace_bytes == nullptr || result == nullptr) {
      return refuse(site, ACLNN_ERR_PARAM_NULLPTR, "x, yOut, scaleOut, workspaceSize and executor must not be null");
    }
    constexpr std::array<const char*, 4> kNames{"x", "smoothScalesOptional", "yOut", "scaleOut"};
    const std::array<const aclTensor*, 4> tensors{x, smooth, y, scale};
    std::array<TensorDesc, 4> descs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (const int status = check_tensor(site, kNames[i], tensors[i])) return status;
      descs[i] = describe_tensor(tensors[i]);
    }
    std::string wrong = refusal(descs[0], descs[1], descs[2], descs[3]);
    if (wrong.empty() && uncountable(*x)) {
      wrong = "x has a negative dimension, or too many elements to count, is " + descs[0].to_string();
    }
    if (!wrong.empty()) return refuse(site, ACLNN_ERR_PARAM_INVALID, wrong);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string strides = refuse_strides(kNames[i], descs[i]);
      if (strides.empty()) continue;
      report(Finding::bad_strides, site, strides);
      return ACLNN_ERR_PARAM_INVALID;
    }

    const bool empty = descs[0].numel() == 0;
    NewExecutor executor = make_executor(site, kFamily, empty ? 0 : kLibraryWorkspace);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool output = i >= 2;
      const TensorDesc& desc = output ? densified(descs[i]) : descs[i];
      executor->add(make_operand(tensors[i], kNames[i], desc.extent_bytes(), !output, output));
    }
    try {
      if (!empty) executor->operation = std::make_unique<DynamicQuantOperation>(descs[0], smooth != nullptr);
    } catch (const std::bad_alloc&) {
      return refuse(site, ACLNN_ERR_INNER_CREATE_EXECUTOR, "the host has no memory for the executor's buffers");
    }
    *workspace_bytes = executor->workspace_bytes;
    *result = executor.release();
    return ACLNN_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
