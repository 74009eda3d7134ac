// Any text as a model's config.json: an InputError or dimensions within bounds.
#include <cstdlib>

#include "test/fuzz/entry.hpp"
#include "tools/io/error.hpp"
#include "tools/model/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mla_prolog::tools;
  try {
    const ModelConfig model = parse_model_config({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (model.dims.he < 1 || model.dims.hcq < 1 || model.dims.n < 1 || model.dims.d < 1) std::abort();
  } catch (const InputError& error) {
    if (error.cause().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
