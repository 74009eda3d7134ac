// One matmul of oneDNN: results[t][n] = sum over k of left[t][k] * weights[k][n], for up to `max_tokens` tokens.
//
// The only interface to oneDNN; matmul.cpp serves versions 2.6 and 3, matmul_absent.cpp builds without it. Everything
// runs on the calling thread: the scheduler's threads each take their own columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mla_prolog::onednn {

// Operands; results are int32 for s8, else float32.
enum class Type : std::uint8_t { s8, bf16, f32 };
inline constexpr std::array<Type, 3> kTypes{Type::s8, Type::bf16, Type::f32};
// "s8s8s32", "bf16bf16f32", "f32f32f32".
const char* name(Type type) noexcept;
std::size_t operand_bytes(Type type) noexcept;

// "2.6.3"; empty in a build without oneDNN.
std::string version();

struct Shape {
  Type type = Type::s8;
  std::int64_t k = 0;
  std::int64_t columns = 0;
  std::int64_t max_tokens = 0;
};

class Matmul {
 public:
  virtual ~Matmul() = default;
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  // oneDNN's own name of what it chose.
  virtual const std::string& implementation() const noexcept = 0;
  // Whether it allocates while it multiplies, which is not what `run` promises.
  virtual bool allocates() const noexcept = 0;
  // There are primitives for max_tokens and one less: the heights of a schedule's blocks.
  bool takes(std::int64_t tokens) const noexcept {
    return tokens > 0 && (tokens == shape_.max_tokens || tokens == shape_.max_tokens - 1);
  }

  // Bytes of prepared weights, and whether another matmul reads the same form.
  virtual std::size_t prepared_bytes() const noexcept = 0;
  virtual bool same_form(const Matmul& other) const noexcept = 0;
  // From row-major weights [k][columns]. False: oneDNN failed.
  virtual bool prepare(const void* weights, std::byte* prepared) const noexcept = 0;

  virtual std::size_t scratch_bytes() const noexcept = 0;
  // Left operand and results are dense. False: oneDNN failed, or does not take so many tokens.
  virtual bool multiply(std::int64_t tokens, const void* left, const std::byte* prepared, void* results,
                        std::byte* scratch) const noexcept = 0;

 protected:
  explicit Matmul(const Shape& shape) : shape_(shape) {}

 private:
  Shape shape_;
};

// Bytes from one prepared block to the next.
inline std::int64_t block_stride(const Matmul& matmul) noexcept {
  return static_cast<std::int64_t>((matmul.prepared_bytes() + 63) / 64 * 64);
}

// A matmul, or why there is none.
struct MadeMatmul {
  std::shared_ptr<const Matmul> matmul;
  std::string reason;
};
MadeMatmul make_matmul(const Shape& shape);

}  // namespace mla_prolog::onednn
