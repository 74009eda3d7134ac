// Checksums against published values of FNV-1a, and the word-wise form against its definition.
#include "tools/io/digest.hpp"

#include <cstring>
#include <vector>

#include "test/catch.hpp"

using namespace mla_prolog::tools;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

TEST_CASE("FNV-1a of well-known strings") {
  CHECK(fnv1a64("") == 0xcbf29ce484222325U);
  CHECK(fnv1a64("a") == 0xaf63dc4c8601ec8cU);
  CHECK(fnv1a64("foobar") == 0x85944171f73967e8U);
}

TEST_CASE("the digest hashes little-endian words, the last padded with zeros") {
  CHECK(digest({}) == 0xcbf29ce484222325U);
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  const std::uint64_t first = (0xcbf29ce484222325U ^ 0x3837363534333231U) * kPrime;  // "12345678"
  CHECK(digest(bytes_of("12345678")) == first);
  CHECK(digest(bytes_of("12345678ab")) == (first ^ 0x6261U) * kPrime);
  CHECK(digest(bytes_of("12345678ab")) == digest(bytes_of(std::string("12345678ab\0\0", 12))));
  CHECK(digest_text(0x00000000000000abU) == "00000000000000ab");
}
