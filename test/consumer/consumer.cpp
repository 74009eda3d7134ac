#include <cstdio>
#include <cstring>
#include <mla_prolog/mla_prolog.hpp>
#include <mla_prolog/version.hpp>

int main() {
  if (std::strcmp(mla_prolog::version(), MLA_PROLOG_VERSION) != 0) {
    std::fprintf(stderr, "headers %s, library %s\n", MLA_PROLOG_VERSION, mla_prolog::version());
    return 1;
  }
  const auto weight = mla_prolog::TensorDesc::nz(mla_prolog::DType::bf16, 64, 32);
  return weight.numel() == 64 * 32 ? 0 : 1;
}
