// The part of MatmulPlan that hands blocks of columns to oneDNN.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/backend/cpu/matmul.hpp"

namespace mla_prolog::cpu {
namespace {

constexpr std::int64_t kHeader = 64;     // of a deferred left operand; its packed form follows
constexpr std::int64_t kAlignment = 64;  // of what lies in scratch

void widen_row(const std::uint16_t* row, std::int64_t count, std::uint32_t* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint32_t>(row[i]) << 16;
}

}  // namespace

void MatmulPlan::set_engine(std::shared_ptr<const onednn::Matmul> engine) {
  engine_ = std::move(engine);
  if (engine_ != nullptr) span_ = round_up(max_k_, chunk_);
}

std::size_t MatmulPlan::left_bytes(std::int64_t k) const {
  const std::size_t bytes = native_bytes(k);
  if (engine_ == nullptr) return bytes;
  const bool widened = engine_->shape().type == onednn::Type::f32;
  return kHeader + std::max(bytes, widened ? static_cast<std::size_t>(max_tokens_ * max_k_) * sizeof(float) : 0);
}

std::size_t MatmulPlan::scratch_bytes() const {
  const std::size_t native = functions_->scratch_bytes(chunk_);
  if (engine_ == nullptr) return native;
  // Results of one block, then oneDNN's own.
  const std::int64_t block = round_up(max_tokens_ * engine_->shape().columns * 4, kAlignment);
  return std::max(native, static_cast<std::size_t>(block) + engine_->scratch_bytes());
}

PackedLeft MatmulPlan::defer(const LeftRows& rows, std::int64_t tokens, std::int64_t k0, std::int64_t k1,
                             std::byte* packed) const {
  static_assert(sizeof(Deferred) <= kHeader);
  new (packed) Deferred{rows, tokens, k0, k1, Form::none};
  return {packed, tokens, k0, true};
}

PackedLeft MatmulPlan::packed_form(const PackedLeft& left) const {
  if (!left.deferred) return left;
  auto* deferred = std::launder(reinterpret_cast<Deferred*>(left.data));
  const PackedLeft packed{left.data + kHeader, left.tokens, left.first_k, false};
  if (deferred->form != Form::native) pack(deferred->rows, 0, deferred->tokens, deferred->k0, deferred->k1, packed);
  deferred->form = Form::native;
  return packed;
}

void MatmulPlan::multiply(const Matrix& matrix, std::int64_t n0, std::int64_t n1, const PackedLeft& left,
                          std::int64_t token, std::int64_t tokens, std::int64_t k0, std::int64_t k1, bool accumulate,
                          void* c, std::int64_t ldc, void* scratch, const kernels::GemmPrefetch& next) const {
  const auto native = [&](std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    multiply_native(matrix, begin, end, packed_form(left), token, tokens, k0, k1, accumulate,
                    static_cast<std::uint32_t*>(c) + (begin - n0), ldc, scratch, next);
  };
  const bool whole = token == 0 && tokens == left.tokens && k0 == 0 && k1 == max_k_ && !accumulate;
  if (!left.deferred || matrix.prepared == nullptr || !whole) return native(n0, n1);
  const std::int64_t block = engine_->shape().columns;
  const std::int64_t first = std::min(n1, round_up(n0, block));
  const std::int64_t last = std::max(first, n1 / block * block);
  native(n0, first);
  for (std::int64_t n = first; n < last; n += block) {
    void* results = static_cast<std::uint32_t*>(c) + (n - n0);
    if (!multiply_block(matrix, n, left, results, ldc, scratch)) native(n, n + block);
  }
  native(last, n1);
}

bool MatmulPlan::multiply_block(const Matrix& matrix, std::int64_t n, const PackedLeft& left, void* c, std::int64_t ldc,
                                void* scratch) const {
  auto* deferred = std::launder(reinterpret_cast<Deferred*>(left.data));
  const std::int64_t tokens = deferred->tokens;
  const std::int64_t columns = engine_->shape().columns;
  if (!engine_->takes(tokens) || (tokens > 1 && deferred->rows.stride != max_k_)) return false;
  const void* rows = deferred->rows.codes;
  if (engine_->shape().type == onednn::Type::f32) {
    auto* wide = reinterpret_cast<std::uint32_t*>(left.data + kHeader);
    if (deferred->form != Form::widened) widen_row(static_cast<const std::uint16_t*>(rows), tokens * max_k_, wide);
    deferred->form = Form::widened;
    rows = wide;
  }
  auto* results = static_cast<std::byte*>(ldc == columns ? c : scratch);
  auto* rest = static_cast<std::byte*>(scratch) + round_up(max_tokens_ * columns * 4, kAlignment);
  const std::byte* weights = matrix.prepared + n / columns * onednn::block_stride(*engine_);
  if (!engine_->multiply(tokens, rows, weights, results, rest)) return false;
  if (ldc == columns) return true;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::memcpy(static_cast<std::uint32_t*>(c) + t * ldc, results + t * columns * 4,
                static_cast<std::size_t>(columns * 4));
  }
  return true;
}

}  // namespace mla_prolog::cpu
