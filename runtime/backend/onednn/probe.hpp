// Proof that an int8 matmul of oneDNN is exact, on data that saturates what is not: without VNNI its kernels add pairs
// of products in 16 bits, which ordinary data hides.
#pragma once

#include <string>

#include "runtime/backend/onednn/matmul.hpp"

namespace mla_prolog::onednn {

// Empty when every checked result is exact; else the first that is not. Remembered for each shape: the instruction set
// that oneDNN may use does not change within a process.
std::string inexactness(const Matmul& matmul);

// Why the kernels behind this matmul cannot be used: they are not exact, or allocate while they run. Empty: they can.
std::string unusable(const Matmul& matmul);

// What there is of one operand type on this machine, from a small matmul of it.
struct Probe {
  std::string implementation;  // empty: none
  std::string reason;          // why it is not used; empty when it is
};
Probe probe(Type type);

}  // namespace mla_prolog::onednn
