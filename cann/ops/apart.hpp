// Inputs of an operator whose outputs may overlap them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "cann/meta/executor.hpp"

namespace mla_prolog::cann {

/// Where an operator reads its inputs: where they are, or, when an output overlaps another tensor, which is a finding,
/// from copies.
class ApartInputs {
 public:
  explicit ApartInputs(const Launch& launch);

  /// Whether the launch must fail; `error` is then why.
  bool refused(std::string& error) const;
  /// Empty when nothing overlaps.
  const std::string& text() const { return text_; }
  const void* operator[](std::size_t operand) const { return data_[operand]; }

 private:
  std::array<const void*, Launch::kMaxOperands> data_{};
  std::vector<std::vector<std::byte>> copies_;
  const char* family_;
  std::string text_;
  bool refused_ = false;
};

}  // namespace mla_prolog::cann
