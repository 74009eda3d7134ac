// Weights as the operator has them, cut into blocks of columns and given to oneDNN to lay out.
#include <atomic>
#include <bit>
#include <cstring>
#include <new>

#include "runtime/backend/onednn/stages.hpp"
#include "runtime/scheduler/team.hpp"
#include "runtime/system/huge_pages.hpp"

namespace mla_prolog::onednn {
namespace {

// One of the four weights: `matrices` matrices [k][columns], FRACTAL_NZ or row-major, bf16 or 8-bit.
struct Source {
  StageIndex stage;
  const void* data;
  std::int64_t matrices;
  std::int64_t k;
  std::int64_t columns;
  bool nz;
  const std::byte* PreparedMatrices::*prepared;
};

// Columns [n, n + count) row-major.
void gather(const Source& source, std::int64_t matrix, std::int64_t n, std::int64_t count, std::int64_t element,
            std::byte* to) {
  const auto* from = static_cast<const std::byte*>(source.data) + matrix * source.k * source.columns * element;
  const std::int64_t width = source.nz ? 32 / element : source.columns;
  for (std::int64_t k = 0; k < source.k; ++k) {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t column = n + done;
      const std::int64_t run = std::min(count - done, width - column % width);
      const std::int64_t at = column / width * source.k * width + k * width + column % width;
      std::memcpy(to, from + at * element, static_cast<std::size_t>(run * element));
      to += run * element;
      done += run;
    }
  }
}

// From the end, so that both may begin at the same address.
void widen_in_place(std::byte* memory, std::int64_t count) {
  for (std::int64_t i = count - 1; i >= 0; --i) {
    std::uint16_t code = 0;
    std::memcpy(&code, memory + 2 * i, sizeof code);
    const std::uint32_t wide = static_cast<std::uint32_t>(code) << 16;
    std::memcpy(memory + 4 * i, &wide, sizeof wide);
  }
}

bool prepare_source(const Source& source, const Matmul& matmul, std::byte* to, int threads) {
  const Shape& shape = matmul.shape();
  const std::int64_t stored = shape.type == Type::s8 ? 1 : 2;
  const std::int64_t blocks = source.columns / shape.columns;
  const auto plain_bytes = static_cast<std::int64_t>(operand_bytes(shape.type)) * shape.k * shape.columns;
  std::vector<std::byte> plain(static_cast<std::size_t>(plain_bytes * threads));
  std::atomic<bool> fine{true};
  parallel_for(source.matrices * blocks, threads, [&](std::int64_t i, int thread) {
    std::byte* rows = plain.data() + plain_bytes * thread;
    gather(source, i / blocks, i % blocks * shape.columns, shape.columns, stored, rows);
    if (shape.type == Type::f32) widen_in_place(rows, shape.k * shape.columns);
    if (!matmul.prepare(rows, to + i * block_stride(matmul))) fine = false;
  });
  return fine;
}

}  // namespace

bool PreparedMatrices::fits(const Stages& stages) const noexcept {
  for (std::size_t i = 0; i < kStages; ++i) {
    const Matmul* mine = form[i].get();
    const Matmul* theirs = stages.stages[i].matmul.get();
    if ((mine == nullptr) != (theirs == nullptr)) return false;
    if (mine == nullptr) continue;
    const Shape& a = mine->shape();
    const Shape& b = theirs->shape();
    if (a.type != b.type || a.k != b.k || a.columns != b.columns || !mine->same_form(*theirs)) return false;
  }
  return true;
}

std::shared_ptr<const PreparedMatrices> prepare_matrices(const Stages& stages, const Layer& layer,
                                                         const Tensors& tensors, int threads) {
  const Source sources[] = {
      {kStageA, tensors.weight_dq, 1, layer.he, layer.hcq, true, &PreparedMatrices::weight_dq},
      {kStageA, tensors.weight_dkv_kr, 1, layer.he, kDkvColumns, true, &PreparedMatrices::weight_dkv_kr},
      {kStageC, tensors.weight_uq_qr, 1, layer.hcq, layer.uq_columns(), true, &PreparedMatrices::weight_uq_qr},
      {kStageD, tensors.weight_uk, layer.n, layer.d, kHckv, false, &PreparedMatrices::weight_uk}};
  const auto bytes_of = [&](const Source& source) {
    const Matmul* matmul = stages[source.stage].get();
    return matmul == nullptr ? 0 : source.matrices * source.columns / matmul->shape().columns * block_stride(*matmul);
  };
  auto prepared = std::make_shared<PreparedMatrices>();
  for (std::size_t i = 0; i < kStages; ++i) prepared->form[i] = stages.stages[i].matmul;
  for (const Source& source : sources) prepared->bytes += static_cast<std::size_t>(bytes_of(source));
  if (prepared->bytes == 0) return prepared;
  prepared->memory.reset(static_cast<std::byte*>(::operator new (prepared->bytes, std::align_val_t{64})));
  advise_huge_pages(prepared->memory.get(), prepared->bytes);
  std::byte* next = prepared->memory.get();
  for (const Source& source : sources) {
    const Matmul* matmul = stages[source.stage].get();
    if (matmul == nullptr) continue;
    if (!prepare_source(source, *matmul, next, threads)) return nullptr;
    (*prepared).*source.prepared = next;
    next += bytes_of(source);
  }
  return prepared;
}

}  // namespace mla_prolog::onednn
