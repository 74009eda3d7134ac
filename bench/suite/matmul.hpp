// One of the operator's weights times T tokens with the panel kernels, columns divided among the threads: what a
// stage's matmul costs without the stage's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/memory.hpp"
#include "kernels/dispatch/isa_registry.hpp"
#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::bench {

// A weight at DeepSeek-V3 size. Heads of weight_uk are row-major bf16 [k][columns], all others FRACTAL_NZ.
struct WeightShape {
  const char* name;
  std::int64_t k;
  std::int64_t columns;
  std::int64_t heads;  // 0: one FRACTAL_NZ matrix
};
inline constexpr WeightShape kWeightDq{"weight_dq", 7168, 1536, 0};
inline constexpr WeightShape kWeightDkvKr{"weight_dkv_kr", 7168, 576, 0};
inline constexpr WeightShape kWeightUqQr{"weight_uq_qr", 1536, 24576, 0};
inline constexpr WeightShape kWeightUk{"weight_uk", 128, 512, 128};

enum class Path { in_place, packed, as_measured };  // the last: which of them GemmFunctions::packed_from says

class Matmul {
 public:
  Matmul(const kernels::GemmKernels& kernels, kernels::GemmType type, const WeightShape& shape, std::int64_t tokens,
         Path path, int threads);

  // Packs the tokens and multiplies with the next copy of the weights.
  void run();

  double weight_bytes() const { return static_cast<double>(weight_bytes_); }
  double ops() const;

 private:
  struct Thread {
    Memory left, scratch;
  };

  void multiply(const Thread& own, const std::uint8_t* weights, std::int64_t n0, std::int64_t n1, std::int64_t head);
  kernels::GemmX rows(std::int64_t k0, std::int64_t chunk, void* packed) const;

  const kernels::GemmFunctions& gemm_;
  WeightShape shape_;
  std::int64_t tokens_;
  bool packed_;
  int threads_;
  std::int64_t element_bytes_, panel_columns_, chunk_, group_;
  std::size_t weight_bytes_;
  std::vector<Memory> copies_;
  std::size_t at_ = 0;
  Memory x_, scales_, results_;
  std::vector<Thread> own_;
};

const char* name_of(kernels::GemmType type);

}  // namespace mla_prolog::bench
