#include "bench/suite/matmul.hpp"

#include <algorithm>
#include <cstring>

#include "tools/run/machine.hpp"

namespace mla_prolog::bench {
namespace {

using namespace kernels;

Memory filled(std::size_t bytes, int value) {
  Memory memory(bytes);
  std::memset(memory.data(), value, bytes);
  return memory;
}

}  // namespace

const char* name_of(GemmType type) {
  constexpr const char* kNames[] = {"bf16", "int8", "e4m3", "hif8", "mx"};
  return kNames[static_cast<std::size_t>(type)];
}

Matmul::Matmul(const GemmKernels& kernels, GemmType type, const WeightShape& shape, std::int64_t tokens, Path path,
               int threads)
    : gemm_(kernels[type]),
      shape_(shape),
      tokens_(tokens),
      packed_(path == Path::packed || (path == Path::as_measured && tokens >= gemm_.packed_from)),
      threads_(threads),
      element_bytes_(type == GemmType::bf16 ? 2 : 1),
      panel_columns_(32 / element_bytes_),
      chunk_(type == GemmType::int8 ? shape.k : std::min(shape.k, kGemmChunk)),
      weight_bytes_(
          static_cast<std::size_t>(shape.k * shape.columns * std::max<std::int64_t>(1, shape.heads) * element_bytes_)) {
  const std::int64_t most = packed_ ? gemm_.packed_group : gemm_.in_place_group;
  const std::int64_t groups = (tokens + most - 1) / most;
  group_ = packed_ ? most : (tokens + groups - 1) / groups;
  const std::size_t copies = 2 * tools::last_level_cache_bytes() / weight_bytes_ + 2;
  for (std::size_t i = 0; i < copies; ++i) copies_.push_back(filled(weight_bytes_, 0x11));
  x_ = filled(static_cast<std::size_t>(tokens * shape.k * element_bytes_), 0x3C);
  scales_ = filled(static_cast<std::size_t>(std::max(tokens, shape.columns) * (shape.k / 32)), 127);
  results_ = filled(static_cast<std::size_t>(tokens * shape.columns) * 4 * static_cast<std::size_t>(threads), 0);
  for (int i = 0; i < threads; ++i) {
    const auto chunks = static_cast<std::size_t>((shape.k + chunk_ - 1) / chunk_);
    own_.push_back({filled(chunks * (gemm_.x_bytes(tokens, chunk_) + 64), 0), filled(gemm_.scratch_bytes(chunk_), 0)});
  }
}

double Matmul::ops() const {
  return 2.0 * static_cast<double>(tokens_) * weight_bytes() / static_cast<double>(element_bytes_);
}

GemmX Matmul::rows(std::int64_t k0, std::int64_t chunk, void* packed) const {
  return {.rows = x_.data() + k0 * element_bytes_,
          .row_stride = shape_.k,
          .scales = scales_.as<std::uint8_t>() + k0 / 32,
          .scale_stride = shape_.k / 32,
          .tokens = tokens_,
          .k = chunk,
          .group = group_,
          .packed = packed};
}

void Matmul::multiply(const Thread& own, const std::uint8_t* weights, std::int64_t n0, std::int64_t n1,
                      std::int64_t head) {
  const std::size_t chunk_bytes = (gemm_.x_bytes(tokens_, chunk_) + 63) / 64 * 64;
  const bool row_major = shape_.heads > 0;
  const std::int64_t row = row_major ? shape_.columns * element_bytes_ : 32;
  const std::int64_t panel = row_major ? 32 : shape_.k * 32;
  const std::uint8_t* matrix = weights + head * shape_.k * shape_.columns * element_bytes_;
  std::byte* results =
      row_major ? results_.data() + (&own - own_.data()) * tokens_ * shape_.columns * 4 : results_.data();
  const std::int64_t step = packed_ ? n1 - n0 : gemm_.in_place_columns(group_);
  for (std::int64_t n = n0; n < n1; n += step) {
    for (std::int64_t k = 0; k < shape_.k; k += chunk_) {
      GemmArgs args;
      args.weight = matrix + n / panel_columns_ * panel + k * row;
      args.panel_stride = panel;
      args.row_stride = row;
      args.weight_scales = scales_.as<std::uint8_t>() + n * (shape_.k / 32) + k / 32;
      args.weight_scale_stride = shape_.k / 32;
      args.columns = std::min(step, n1 - n);
      args.k = std::min(chunk_, shape_.k - k);
      args.x = own.left.data() + static_cast<std::size_t>(k / chunk_) * chunk_bytes;
      args.tokens = tokens_;
      args.group = group_;
      args.c = results + n * 4;
      args.ldc = shape_.columns;
      args.accumulate = k != 0;
      args.scratch = own.scratch.data();
      (packed_ ? gemm_.packed : gemm_.in_place)(args);
    }
  }
}

void Matmul::run() {
  const auto* weights = copies_[at_++ % copies_.size()].as<std::uint8_t>();
  const std::size_t chunk_bytes = (gemm_.x_bytes(tokens_, chunk_) + 63) / 64 * 64;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads_) schedule(static)
#endif
  for (int part = 0; part < threads_; ++part) {
    const Thread& own = own_[static_cast<std::size_t>(part)];
    for (std::int64_t k = 0; k < shape_.k; k += chunk_) {
      gemm_.pack_x(rows(k, std::min(chunk_, shape_.k - k),
                        own.left.data() + static_cast<std::size_t>(k / chunk_) * chunk_bytes));
    }
    if (shape_.heads > 0) {
      for (std::int64_t h = shape_.heads * part / threads_; h < shape_.heads * (part + 1) / threads_; ++h) {
        multiply(own, weights, 0, shape_.columns, h);
      }
      continue;
    }
    // 64 columns, so that packed kernels are not left with part of a tile.
    const std::int64_t units = (shape_.columns + 63) / 64;
    multiply(own, weights, units * part / threads_ * 64, std::min(shape_.columns, units * (part + 1) / threads_ * 64),
             0);
  }
}

}  // namespace mla_prolog::bench
