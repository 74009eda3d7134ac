// One matmul of oneDNN, made once: the only file that knows which version it is (2.6 or 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "bench/support/memory.hpp"

namespace mla_prolog::bench {

dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();
std::string onednn_version();

// What is added to int8 to make it u8, which some of oneDNN's kernels prefer; it takes the offset out of the results.
inline constexpr std::int32_t kByteOffset = 128;

// [count] x [rows, k] . [k, columns]. Source and destination may be strided; the weights are dense in `weight_type`.
struct MatmulShape {
  std::int64_t count = 1;  // 1: a plain matrix
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::int64_t columns = 0;
  dnnl::memory::data_type source_type = dnnl::memory::data_type::undef;
  dnnl::memory::data_type weight_type = dnnl::memory::data_type::undef;
  dnnl::memory::data_type result_type = dnnl::memory::data_type::undef;
  // Elements from one row, and from one matrix, to the next.
  std::int64_t source_row = 0, source_matrix = 0;
  std::int64_t result_row = 0, result_matrix = 0;
};

class OnednnMatmul {
 public:
  // Empty where oneDNN has nothing for these types.
  static std::optional<OnednnMatmul> make(const MatmulShape& shape);

  const std::string& implementation() const { return implementation_; }
  const dnnl::memory::desc& weights_desc() const { return weights_desc_; }
  // Rearranges dense row-major weights into the form that it prefers.
  Memory prepack(const void* weights) const;
  void run(const void* source, const void* weights, void* result);

 private:
  explicit OnednnMatmul(const MatmulShape& shape);

  dnnl::matmul primitive_;
  dnnl::memory::desc plain_weights_, weights_desc_;
  dnnl::memory source_, weights_, result_, scratchpad_;
  std::unordered_map<int, dnnl::memory> arguments_;  // they share the handles of those above
  std::shared_ptr<Memory> scratch_;
  std::string implementation_;
};

}  // namespace mla_prolog::bench
