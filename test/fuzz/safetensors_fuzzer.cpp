// Any bytes as a safetensors file: an InputError or tensors that lie inside the bytes.
#include <cstdlib>
#include <numeric>

#include "test/fuzz/entry.hpp"
#include "tools/io/digest.hpp"
#include "tools/io/error.hpp"
#include "tools/io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mla_prolog::tools;
  try {
    const SafetensorsFile file({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    std::size_t total = 0;
    for (const StoredTensor& tensor : file.tensors()) {
      static_cast<void>(digest(tensor.bytes));  // reads every byte
      total += tensor.bytes.size();
      if (file.find(tensor.name) != &tensor) std::abort();
      if (tensor.elements() * element_size(tensor.type) != tensor.bytes.size()) std::abort();
    }
    if (total > size) std::abort();
  } catch (const InputError& error) {
    if (error.cause().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
