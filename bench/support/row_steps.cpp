#include "bench/support/row_steps.hpp"

#include <algorithm>
#include <numeric>

namespace mla_prolog::bench {
namespace {

using kernels::bf16_t;

// Values that every kernel takes as ordinary, whether it reads them as float32, int32 or bf16.
void fill_ordinary(const Memory& memory) {
  for (std::size_t i = 0; i < memory.size() / 4; ++i) memory.as<float>()[i] = 1.0F + static_cast<float>(i % 97) / 64.0F;
}

}  // namespace

RowSteps::RowSteps(const Layer& layer, const kernels::KernelSet& set, int threads, const Tensors& tensors)
    : layer_(layer),
      tensors_(tensors),
      rows_(*set.rows),
      threads_(threads),
      own_(static_cast<std::size_t>(threads)),
      matmul_results_(static_cast<std::size_t>(layer.hcq + kDkvColumns + layer.uq_columns()) * 4),
      codes_(static_cast<std::size_t>(layer.tokens * layer.hcq) * 2),
      scales_(static_cast<std::size_t>(layer.tokens * (layer.hcq / kMxBlock + 1)) * 4),
      qn_(kHckv * sizeof(float)),
      slots_(static_cast<std::size_t>(layer.tokens)) {
  fill_ordinary(matmul_results_);
  fill_ordinary(codes_);
  fill_ordinary(scales_);
  fill_ordinary(qn_);
  std::iota(slots_.begin(), slots_.end(), 0);
  const auto width = static_cast<std::size_t>(std::max(cpu::row_scratch_width(layer), kHckv));
  for (Thread& thread : own_) {
    thread.floats = Memory(2 * width * sizeof(float));
    thread.halves = Memory((width + static_cast<std::size_t>(layer.d)) * sizeof(bf16_t));
    thread.cache_row = Memory(kPerTileRow);
    thread.scratch = {.projected = thread.floats.as<float>(),
                      .normed = thread.floats.as<float>() + width,
                      .row = thread.halves.as<bf16_t>(),
                      .cache_row = thread.cache_row.as<std::uint8_t>()};
  }
}

template <typename Body>
void RowSteps::for_each_token(Body&& body) const {
  const cpu::Run run{layer_, tensors_, rows_, layer_.writes_cache() ? slots_.data() : nullptr};
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads_) schedule(static)
#endif
  for (int part = 0; part < threads_; ++part) {
    const Thread& own = own_[static_cast<std::size_t>(part)];
    const std::int64_t begin = layer_.tokens * part / threads_;
    const std::int64_t end = layer_.tokens * (part + 1) / threads_;
    for (std::int64_t t = begin; t < end; ++t) body(run, own, t);
  }
}

void RowSteps::finish_rows() const {
  const cpu::CompressedQuery cq{
      .codes = codes_.as<std::uint8_t>(), .scales = scales_.as<float>(), .mx_scales = scales_.as<std::uint8_t>()};
  for_each_token([&](const cpu::Run& run, const Thread& own, std::int64_t t) {
    cpu::compress_query(run, t, matmul_results_.data(), own.scratch, t, cq);
    if (run.slot != nullptr) cpu::store_latent(run, t, matmul_results_.as<float>() + layer_.hcq, own.scratch);
  });
}

void RowSteps::finish_heads() const {
  const float* heads = matmul_results_.as<float>() + layer_.hcq + kDkvColumns;
  for_each_token([&](const cpu::Run& run, const Thread& own, std::int64_t t) {
    bf16_t* qc = own.halves.as<bf16_t>() + std::max(cpu::row_scratch_width(layer_), kHckv);
    for (std::int64_t h = 0; h < layer_.n; ++h) {
      cpu::split_head(run, t, h, heads + h * (layer_.d + kDr), scales_.as<float>() + t, own.scratch, qc);
      if (layer_.quantised_query()) cpu::quantise_query(run, t, h, qn_.as<bf16_t>());
    }
  });
}

}  // namespace mla_prolog::bench
