// What every example needs: a device with a stream, and tensors with their memory. C++11, plain CANN interface.
#ifndef MLA_PROLOG_EXAMPLES_CANN_SESSION_HPP
#define MLA_PROLOG_EXAMPLES_CANN_SESSION_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace example {

/// Ends the program when a call fails, with the runtime's own words.
inline void check(int status, const char* what) {
  if (status == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s returned %d: %s\n", what, status, text == nullptr ? "" : text);
  std::exit(1);
}

/// Device 0 and a stream on it.
class Session {
 public:
  Session() {
    check(aclInit(nullptr), "aclInit");
    check(aclrtSetDevice(0), "aclrtSetDevice");
    check(aclrtCreateStream(&stream_), "aclrtCreateStream");
  }
  ~Session() {
    check(aclrtDestroyStream(stream_), "aclrtDestroyStream");
    check(aclrtResetDevice(0), "aclrtResetDevice");
    check(aclFinalize(), "aclFinalize");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  aclrtStream stream() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

/// A device tensor. Weights are given as (K, N) and stored FRACTAL_NZ: [N/w0, K/16, 16, w0], w0 elements fill 32 bytes.
class Tensor {
 public:
  static Tensor nd(aclDataType dtype, const std::vector<int64_t>& shape) { return Tensor(dtype, shape, ACL_FORMAT_ND); }
  static Tensor nz(aclDataType dtype, int64_t k, int64_t n) {
    const int64_t w0 = 32 / static_cast<int64_t>(aclDataTypeSize(dtype));
    return Tensor(dtype, {n / w0, k / 16, 16, w0}, ACL_FORMAT_FRACTAL_NZ);
  }
  ~Tensor() {
    if (handle_ == nullptr) return;
    check(aclDestroyTensor(handle_), "aclDestroyTensor");
    if (device_ != nullptr) check(aclrtFree(device_), "aclrtFree");
  }
  Tensor(Tensor&& other) noexcept
      : dtype_(other.dtype_), bytes_(other.bytes_), device_(other.device_), handle_(other.handle_) {
    other.handle_ = nullptr;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  aclTensor* get() const { return handle_; }

  /// Fills with repeating small values: bf16 and float around zero, 8-bit codes and indices from 0 up.
  Tensor&& fill(unsigned seed, int64_t range) && {
    std::vector<unsigned char> host(bytes_);
    const std::size_t size = aclDataTypeSize(dtype_);
    for (std::size_t i = 0; i < bytes_ / size; ++i) {
      const int64_t number = static_cast<int64_t>((i * 2654435761u + seed * 40503u) >> 7) % range;
      write_element(host.data() + i * size, number, range);
    }
    upload(host.data());
    return std::move(*this);
  }
  /// Position i gets i.
  Tensor&& count() && {
    std::vector<int64_t> host(bytes_ / sizeof(int64_t));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int64_t>(i);
    upload(host.data());
    return std::move(*this);
  }
  Tensor&& set(const std::vector<int32_t>& values) && {
    upload(values.data());
    return std::move(*this);
  }

  /// The first bytes, for display.
  std::vector<unsigned char> download() const {
    std::vector<unsigned char> host(bytes_);
    check(aclrtMemcpy(host.data(), host.size(), device_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
    return host;
  }

 private:
  Tensor(aclDataType dtype, const std::vector<int64_t>& shape, aclFormat format) : dtype_(dtype) {
    bytes_ = aclDataTypeSize(dtype);
    for (int64_t dim : shape) bytes_ *= static_cast<std::size_t>(dim);
    if (bytes_ > 0) check(aclrtMalloc(&device_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    handle_ =
        aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, format, shape.data(), shape.size(), device_);
    if (handle_ == nullptr) check(-1, "aclCreateTensor");
  }

  /// EXAMPLE_ZEROS in the environment: zeros instead, indices and prefix sums included.
  void upload(const void* host) {
    const std::vector<unsigned char> zeros(bytes_);
    if (std::getenv("EXAMPLE_ZEROS") != nullptr) host = zeros.data();
    check(aclrtMemcpy(device_, bytes_, host, bytes_, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  }

  void write_element(unsigned char* at, int64_t number, int64_t range) const {
    const float value = static_cast<float>(number - range / 2) / static_cast<float>(range);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const uint16_t upper = static_cast<uint16_t>(bits >> 16);
    const float scale = 0.001f * static_cast<float>(1 + number);
    switch (dtype_) {
      case ACL_BF16:
        std::memcpy(at, &upper, sizeof upper);
        break;
      case ACL_FLOAT:
        std::memcpy(at, &scale, sizeof scale);
        break;
      case ACL_FLOAT8_E8M0:
        *at = static_cast<unsigned char>(120 + number % 8);
        break;
      default:
        *at = static_cast<unsigned char>(number);
        break;
    }
  }

  aclDataType dtype_;
  std::size_t bytes_ = 0;
  void* device_ = nullptr;
  aclTensor* handle_ = nullptr;
};

/// Device memory for phase two, if phase one asked for some.
class Workspace {
 public:
  explicit Workspace(uint64_t bytes) : bytes_(bytes) {
    if (bytes > 0) check(aclrtMalloc(&device_, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  }
  ~Workspace() {
    if (device_ != nullptr) check(aclrtFree(device_), "aclrtFree");
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* get() const { return device_; }
  uint64_t size() const { return bytes_; }

 private:
  uint64_t bytes_;
  void* device_ = nullptr;
};

/// A cache mode as the interface takes it: a writable C string.
class CacheMode {
 public:
  explicit CacheMode(const char* name) : text_(name, name + std::strlen(name) + 1) {}
  char* get() { return text_.data(); }

 private:
  std::vector<char> text_;
};

inline void print_sum(const char* name, const Tensor& tensor) {
  unsigned long sum = 0;
  const std::vector<unsigned char> bytes = tensor.download();
  for (unsigned char byte : bytes) sum = sum * 31 + byte;
  std::printf("%s: %zu bytes, hash %016lx\n", name, bytes.size(), sum);
}

}  // namespace example

#endif
