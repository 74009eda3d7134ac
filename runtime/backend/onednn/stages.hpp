// Which matmuls of a plan oneDNN does, and the weights prepared for them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "mla_prolog/tensor.hpp"
#include "mla_prolog/types.hpp"
#include "runtime/backend/onednn/matmul.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::onednn {

// Whether a plan may use oneDNN at all, where the model of its cost says so, or wherever it can.
enum class Use : std::uint8_t { never, where_faster, wherever_possible };

// Stages with a matmul: A weight_dq and weight_dkv_kr, C weight_uq_qr, D weight_uk.
enum StageIndex : std::size_t { kStageA, kStageC, kStageD };
inline constexpr std::size_t kStages = 3;

struct Stage {
  std::shared_ptr<const Matmul> matmul;  // of one block of columns; null: native kernels
  std::string note;                      // what and why, for Plan::describe
};

struct Stages {
  std::array<Stage, kStages> stages;

  bool any() const noexcept;
  std::string describe() const;  // a line for each stage
  std::string summary() const;   // the same in one line
  // "native", or "oneDNN" with the operands' types and the implementation.
  std::string engine(StageIndex i) const;
  const std::shared_ptr<const Matmul>& operator[](StageIndex i) const { return stages[i].matmul; }
  // Where the blocks of a head's weight_uk begin; null where they are not prepared.
  const std::byte* block_of_head(const std::byte* weight_uk, std::int64_t head) const noexcept;
};

// `block_tokens` is the height of a schedule's blocks.
Stages choose_stages(const Layer& layer, std::int64_t block_tokens, Use use, Numerics numerics);

// Weights of a layer in the form that a plan's matmuls read: blocks of columns one after the other.
struct PreparedMatrices {
  std::array<std::shared_ptr<const Matmul>, kStages> form;
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::size_t bytes = 0;
  // Null where the stage is native.
  const std::byte* weight_dq = nullptr;
  const std::byte* weight_dkv_kr = nullptr;
  const std::byte* weight_uq_qr = nullptr;
  const std::byte* weight_uk = nullptr;

  bool fits(const Stages& stages) const noexcept;
};

// Null when oneDNN failed. May throw std::bad_alloc.
std::shared_ptr<const PreparedMatrices> prepare_matrices(const Stages& stages, const Layer& layer,
                                                         const Tensors& tensors, int threads);

}  // namespace mla_prolog::onednn
