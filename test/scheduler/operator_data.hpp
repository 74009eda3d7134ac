// A whole call of the operator with generated data: inputs, caches and outputs in memory of the right shapes.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "mla_prolog/convert.hpp"
#include "mla_prolog/problem.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog::test {

// Memory of a cache line's alignment, from the system so that untouched pages cost nothing.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes)
      : size_(bytes), data_(static_cast<std::byte*>(::operator new (bytes + 1, std::align_val_t{64}))) {}
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

class OperatorData {
 public:
  // heavy_tailed: some activations are far larger than the rest, and scales span powers of two.
  OperatorData(const Problem& problem, std::uint64_t seed, bool heavy_tailed) : problem_(problem) {
    for (const TensorId id : all_tensors()) {
      const TensorDesc& desc = problem[id];
      if (!desc.present()) continue;
      buffers_[static_cast<std::size_t>(id)] = Buffer(desc.extent_bytes());
      fill(id, seed, heavy_tailed);
    }
  }

  const Problem& problem() const { return problem_; }
  const Buffer& buffer(TensorId id) const { return buffers_[static_cast<std::size_t>(id)]; }

  Tensors tensors() const {
    Tensors tensors;
    for (const TensorId id : all_tensors()) {
      if (problem_[id].numel() > 0) tensors.set(id, buffer(id).data());
    }
    return tensors;
  }

  // Bytes of everything that a run writes, in order.
  std::vector<std::byte> written() const {
    std::vector<std::byte> bytes;
    for (const TensorId id : all_tensors()) {
      if (!is_output(id) && !is_cache(id)) continue;
      bytes.insert(bytes.end(), buffer(id).data(), buffer(id).data() + buffer(id).size());
    }
    return bytes;
  }

  // Outputs and caches to a pattern that no run leaves behind.
  void reset() {
    for (const TensorId id : all_tensors()) {
      if ((is_output(id) || is_cache(id)) && buffer(id).size() > 0) {
        std::memset(buffer(id).data(), 0x5A, buffer(id).size());
      }
    }
  }

 private:
  void fill(TensorId id, std::uint64_t seed, bool heavy_tailed) {
    std::mt19937_64 random(seed * 1315423911ULL + static_cast<std::uint64_t>(id));
    const TensorDesc& desc = problem_[id];
    std::byte* data = buffer(id).data();
    const auto count =
        static_cast<std::size_t>(desc.extent_bytes() / std::max<std::size_t>(1, element_size(desc.dtype)));
    if (is_output(id) || is_cache(id)) {
      std::memset(data, 0x5A, desc.extent_bytes());
      return;
    }
    if (id == TensorId::cache_index) {
      auto* slots = reinterpret_cast<std::int64_t*>(data);
      for (std::size_t i = 0; i < count; ++i) slots[i] = i % 7 == 5 ? -1 : static_cast<std::int64_t>(i ^ 1);
      return;
    }
    if (desc.dtype == DType::int8) {
      for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<std::byte>(random());
      return;
    }
    if (desc.dtype == DType::float8_e8m0) {
      for (std::size_t i = 0; i < count; ++i)
        data[i] = static_cast<std::byte>(heavy_tailed ? random() % 200 : 115 + random() % 12);
      return;
    }
    const bool scale = desc.dtype == DType::float32;
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& v : values) {
      v = scale ? std::abs(normal(random)) * 0.01F + 0.001F : normal(random);
      if (id == TensorId::weight_uk || id == TensorId::weight_uq_qr || id == TensorId::weight_dq) v *= 0.05F;
      if (heavy_tailed && random() % 50 == 0) v *= 300.0F;
    }
    encode(desc.dtype, values.data(), count, data);
  }

  Problem problem_;
  Buffer buffers_[kTensorCount];
};

}  // namespace mla_prolog::test
