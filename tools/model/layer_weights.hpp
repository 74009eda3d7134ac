// The weights of one attention layer as floats, from a checkpoint or made up.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/model/float_tensor.hpp"
#include "tools/model/model.hpp"

namespace mla_prolog::tools {

struct LayerWeights {
  FloatTensor weight_dq;          ///< (He, Hcq)
  FloatTensor weight_uq_qr;       ///< (Hcq, N*(D+64))
  FloatTensor weight_uk;          ///< (N, D, 512)
  FloatTensor weight_dkv_kr;      ///< (He, 576)
  FloatTensor rmsnorm_gamma_cq;   ///< (Hcq)
  FloatTensor rmsnorm_gamma_ckv;  ///< (512)

  /// The member of a tensor's name; null for other tensors.
  FloatTensor* find(TensorId id) noexcept;
};

/// Weights like a trained layer's: close to normal with standard deviation 1/sqrt(K), gammas around 1, in bf16. They
/// depend on seed and shape alone.
LayerWeights generate_weights(const ModelDims& dims, std::uint64_t seed);

/// Tokens close to standard normal, with one value in 256 sixteen times as large: the outliers that make quantisation
/// hard. bf16 of the given shape.
FloatTensor generate_tokens(const std::vector<std::int64_t>& shape, std::uint64_t seed);

}  // namespace mla_prolog::tools
