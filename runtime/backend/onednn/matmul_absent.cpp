// Builds without oneDNN.
#include "runtime/backend/onednn/matmul.hpp"

namespace mla_prolog::onednn {

std::string version() { return {}; }

MadeMatmul make_matmul(const Shape& /*shape*/) { return {nullptr, "not in this build"}; }

}  // namespace mla_prolog::onednn
