// The two ways a command can be refused. Both end as one line on stderr and exit code 2.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace mla_prolog::tools {

/// Control characters replaced and very long texts cut, so that a message stays one readable line whatever a file or a
/// user put into it.
std::string one_line(std::string_view text);

/// A file that cannot be read, or whose content is not what it must be.
class InputError : public std::runtime_error {
 public:
  InputError(std::string file, const std::string& cause)
      : std::runtime_error(one_line(file) + ": " + one_line(cause)), file_(std::move(file)), cause_(one_line(cause)) {}

  const std::string& file() const noexcept { return file_; }
  const std::string& cause() const noexcept { return cause_; }

 private:
  std::string file_;
  std::string cause_;
};

/// An option that is wrong, impossible here, or in conflict with another.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& text) : std::runtime_error(one_line(text)) {}
};

}  // namespace mla_prolog::tools
