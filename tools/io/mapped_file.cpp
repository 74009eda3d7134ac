#include "tools/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tools/io/error.hpp"

namespace mla_prolog::tools {
namespace {

class Descriptor {
 public:
  // O_NONBLOCK: opening a pipe must not wait for a writer; it is refused right after.
  explicit Descriptor(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string system_text() { return std::generic_category().message(errno); }

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(path);
  if (file.get() < 0) throw InputError(path, "cannot open: " + system_text());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw InputError(path, "cannot stat: " + system_text());
  if (S_ISDIR(status.st_mode)) throw InputError(path, "is a directory, not a file");
  if (!S_ISREG(status.st_mode)) throw InputError(path, "is not a regular file");
  if (status.st_size <= 0) throw InputError(path, "is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) throw InputError(path, "cannot map: " + system_text());
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

}  // namespace mla_prolog::tools
