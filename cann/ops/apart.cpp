#include "cann/ops/apart.hpp"

#include <cstdint>

namespace mla_prolog::cann {
namespace {

/// "yOut overlaps x", or empty.
std::string describe_overlap(const Launch& launch) {
  const aclOpExecutor& executor = *launch.executor;
  for (std::size_t i = 0; i < executor.operand_count; ++i) {
    const Operand& written = executor.operands[i];
    const auto begin = reinterpret_cast<std::uintptr_t>(launch.data[i]);
    if (!written.output || written.extent == 0) continue;
    for (std::size_t j = 0; j < executor.operand_count; ++j) {
      const Operand& other = executor.operands[j];
      const auto other_begin = reinterpret_cast<std::uintptr_t>(launch.data[j]);
      if (i == j || begin >= other_begin + other.extent || other_begin >= begin + written.extent) continue;
      return std::string(written.name) + " overlaps " + other.name;
    }
  }
  return {};
}

}  // namespace

bool ApartInputs::refused(std::string& error) const {
  if (refused_) error = std::string(family_) + ": " + text_;
  return refused_;
}

ApartInputs::ApartInputs(const Launch& launch) : family_(launch.executor->family), text_(describe_overlap(launch)) {
  for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = launch.data[i];
  if (text_.empty()) return;
  refused_ = report(Finding::output_overlap, launch.site, text_);
  if (refused_) return;
  for (std::size_t i = 0; i < launch.executor->operand_count; ++i) {
    const Operand& operand = launch.executor->operands[i];
    if (!operand.input || operand.extent == 0) continue;
    const auto* bytes = static_cast<const std::byte*>(launch.data[i]);
    data_[i] = copies_.emplace_back(bytes, bytes + operand.extent).data();
  }
}

}  // namespace mla_prolog::cann
