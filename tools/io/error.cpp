#include "tools/io/error.hpp"

namespace mla_prolog::tools {

std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::string line(text.substr(0, kLongest));
  if (text.size() > kLongest) line += "...";
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return line;
}

}  // namespace mla_prolog::tools
