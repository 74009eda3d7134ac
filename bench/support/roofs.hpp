// The machine's limits, measured: what a share of the roof is a share of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mla_prolog/types.hpp"
#include "runtime/problem/layer.hpp"

namespace mla_prolog::bench {

// Per second, all threads together.
struct Roofs {
  double read_bytes = 0;
  double float_ops = 0;    // float32 multiply-add, two operations each
  double int8_ops = 0;     // the best exact int8 instruction of the set
  double decoded_ops = 0;  // 8-bit floats decoded and multiplied; of the layer's type and tokens, 0 without
};

double measure_read_bytes(std::span<const std::byte> memory, int threads);
double measure_float_ops(Isa isa, int threads);
double measure_int8_ops(Isa isa, int threads);
// `operand` is mx, e4m3 or hif8.
double measure_decoded_ops(Isa isa, int threads, Operand operand, std::int64_t tokens);

// What one call must at least do.
struct Work {
  double weight_bytes = 0;  // of the four weights and their MX scales
  double float_ops = 0;
  double int8_ops = 0;
  double decoded_ops = 0;

  double ops() const { return float_ops + int8_ops + decoded_ops; }
  // Weights from memory, or arithmetic at each type's peak, whichever is longer.
  double ideal_seconds(const Roofs& roofs) const;
};
Work work_of(const Layer& layer);

// All that `layer` needs; reading `cold` is the read bandwidth.
Roofs measure_roofs(const Layer& layer, Isa isa, int threads, std::span<const std::byte> cold);

}  // namespace mla_prolog::bench
