#include "tools/model/layer_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "mla_prolog/convert.hpp"
#include "tools/cases/generator.hpp"
#include "tools/io/digest.hpp"

namespace mla_prolog::tools {
namespace {

constexpr std::size_t kBlock = 4096;

// Near normal with standard deviation 1: the sum of four uniform 16-bit numbers (variance (2^32 - 1) / 12 each). One
// random word an element keeps 61 million weights within a fraction of a second.
float near_normal(std::uint64_t z) noexcept {
  constexpr float kMean = 4 * 65535.0F / 2;
  constexpr float kInverseDeviation = 1.0F / 37837.2F;
  const std::uint64_t sum = (z & 0xFFFF) + (z >> 16 & 0xFFFF) + (z >> 32 & 0xFFFF) + (z >> 48);
  return (static_cast<float>(sum) - kMean) * kInverseDeviation;
}

template <typename Value>
FloatTensor generate_bf16(const std::vector<std::int64_t>& shape, std::uint64_t state, Value value) {
  std::size_t bytes = 0;
  if (!checked_bytes(shape, sizeof(std::uint16_t), bytes)) throw std::bad_alloc();
  FloatTensor tensor{DType::bf16, shape, Buffer(bytes)};
  const std::span<std::uint16_t> out = tensor.data.as<std::uint16_t>();
  const auto blocks = static_cast<std::ptrdiff_t>((out.size() + kBlock - 1) / kBlock);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t block = 0; block < blocks; ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kBlock;
    const std::size_t here = std::min(kBlock, out.size() - first);
    std::array<float, kBlock> values;
    for (std::size_t i = 0; i < here; ++i) values[i] = value(splitmix64(state, first + i));
    encode(DType::bf16, values.data(), here, out.data() + first);
  }
  return tensor;
}

FloatTensor normal_weights(const std::vector<std::int64_t>& shape, std::int64_t k, TensorId id, std::uint64_t seed) {
  const float deviation = 1.0F / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, k)));
  return generate_bf16(shape, seed ^ fnv1a64(to_string(id)),
                       [deviation](std::uint64_t z) { return near_normal(z) * deviation; });
}

FloatTensor gammas(std::int64_t size, TensorId id, std::uint64_t seed) {
  return generate_bf16({size}, seed ^ fnv1a64(to_string(id)),
                       [](std::uint64_t z) { return 1.0F + 0.25F * near_normal(z); });
}

}  // namespace

FloatTensor* LayerWeights::find(TensorId id) noexcept {
  switch (id) {
    case TensorId::weight_dq:
      return &weight_dq;
    case TensorId::weight_uq_qr:
      return &weight_uq_qr;
    case TensorId::weight_uk:
      return &weight_uk;
    case TensorId::weight_dkv_kr:
      return &weight_dkv_kr;
    case TensorId::rmsnorm_gamma_cq:
      return &rmsnorm_gamma_cq;
    case TensorId::rmsnorm_gamma_ckv:
      return &rmsnorm_gamma_ckv;
    default:
      return nullptr;
  }
}

LayerWeights generate_weights(const ModelDims& dims, std::uint64_t seed) {
  LayerWeights weights;
  weights.weight_dq = normal_weights({dims.he, dims.hcq}, dims.he, TensorId::weight_dq, seed);
  weights.weight_uq_qr = normal_weights({dims.hcq, dims.n * (dims.d + kDr)}, dims.hcq, TensorId::weight_uq_qr, seed);
  weights.weight_uk = normal_weights({dims.n, dims.d, kHckv}, dims.d, TensorId::weight_uk, seed);
  weights.weight_dkv_kr = normal_weights({dims.he, kHckv + kDr}, dims.he, TensorId::weight_dkv_kr, seed);
  weights.rmsnorm_gamma_cq = gammas(dims.hcq, TensorId::rmsnorm_gamma_cq, seed);
  weights.rmsnorm_gamma_ckv = gammas(kHckv, TensorId::rmsnorm_gamma_ckv, seed);
  return weights;
}

FloatTensor generate_tokens(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  const std::uint64_t state = seed ^ fnv1a64(to_string(TensorId::token_x));
  const std::uint64_t outlier_state = ~state;
  return generate_bf16(shape, state, [outlier_state](std::uint64_t z) {
    const bool outlier = (splitmix64(outlier_state, z) & 0xFF) == 0;
    return near_normal(z) * (outlier ? 16.0F : 1.0F);
  });
}

}  // namespace mla_prolog::tools
