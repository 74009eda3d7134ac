// Operands of a call: weights in copies that are read in rotation, so that each call finds them cold, and all the rest.
// Values are full-range codes and near-normal floats; they repeat, which no kernel notices.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/memory.hpp"
#include "mla_prolog/problem.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog::bench {

struct Dims {
  std::int64_t he = 7168;
  std::int64_t hcq = 1536;
  std::int64_t n = 128;
  std::int64_t d = 128;
};

// "w2kv1" with T 2-D tokens and just enough PA_BSND blocks. Throws std::invalid_argument when it is no scenario.
Problem problem_of(std::string_view scenario, std::int64_t tokens, const Dims& dims);

// Values of `desc` from `values` on.
void fill(const TensorDesc& desc, TensorId id, std::byte* values);

class ColdWeights {
 public:
  // The four weights and their scales; they do not depend on the number of tokens. So many copies that when one comes
  // round again the others have driven it out of the largest cache; at least `least`.
  explicit ColdWeights(const Problem& problem, int least = 3);

  // Turns to the next copy.
  void turn() { at_ = (at_ + 1) % copies_.size(); }
  std::size_t copies() const { return copies_.size(); }
  std::size_t at() const { return at_; }
  // The copy that is turned to, as bytes and as tensors.
  std::span<const std::byte> bytes() const { return copies_[at_].bytes(); }
  void set(Tensors& tensors) const { set(tensors, at_); }
  void set(Tensors& tensors, std::size_t copy) const;

 private:
  struct Place {
    TensorId id;
    std::size_t offset;
  };
  std::vector<Place> places_;
  std::vector<Memory> copies_;
  std::size_t at_ = 0;
};

// Everything else: tokens, tables, scales, caches, outputs; all pages touched.
class TokenData {
 public:
  explicit TokenData(const Problem& problem);
  const Tensors& tensors() const { return tensors_; }

 private:
  std::vector<Memory> memory_;
  Tensors tensors_;
};

}  // namespace mla_prolog::bench
