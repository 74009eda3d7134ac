#include "tools/io/digest.hpp"

#include <algorithm>
#include <cstring>

namespace mla_prolog::tools {
namespace {

constexpr std::uint64_t kBasis = 0xCBF29CE484222325U;
constexpr std::uint64_t kPrime = 0x100000001B3U;

}  // namespace

std::uint64_t digest(std::span<const std::byte> bytes) noexcept {
  std::uint64_t hash = kBasis;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
    hash = (hash ^ word) * kPrime;
  }
  return hash;
}

std::uint64_t fnv1a64(std::string_view text) noexcept {
  std::uint64_t hash = kBasis;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

std::string digest_text(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) *digit = kDigits[value & 0xF];
  return text;
}

}  // namespace mla_prolog::tools
