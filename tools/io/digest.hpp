// The checksum of the golden files: FNV-1a over little-endian 64-bit words, the last one padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mla_prolog::tools {

std::uint64_t digest(std::span<const std::byte> bytes) noexcept;

/// FNV-1a over single bytes, the usual way.
std::uint64_t fnv1a64(std::string_view text) noexcept;

/// Sixteen lower-case hexadecimal digits.
std::string digest_text(std::uint64_t value);

}  // namespace mla_prolog::tools
