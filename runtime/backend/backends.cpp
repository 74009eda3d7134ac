#include "runtime/backend/backends.hpp"

#include <cstdlib>
#include <string>

#include "mla_prolog/system.hpp"
#include "runtime/backend/reference.hpp"

namespace mla_prolog {
namespace {

Error unavailable(const std::string& option, std::string_view name, const std::string& why) {
  return {{.code = StatusCode::param_invalid, .rule = Rule::option_unavailable},
          option + " " + std::string(name) + ": " + why};
}

// The set asked for by option, else by the environment; empty when the environment names none that exists.
Result<Isa> requested_isa(const PlanOptions& options) {
  if (options.isa != Isa::automatic) return options.isa;
  const char* name = std::getenv("MLA_PROLOG_ISA");
  if (name == nullptr || *name == '\0') return Isa::automatic;
  if (const auto isa = parse<Isa>(name)) return *isa;
  return unavailable("MLA_PROLOG_ISA", name, "no such instruction set");
}

}  // namespace

std::vector<BackendInfo> list_backends() {
  return {{Backend::reference, true, ""},
          {Backend::cpu, false, "not in this build"},
          {Backend::onednn, false, "not in this build"},
          {Backend::ascend, false, "not in this build"}};
}

Result<BackendChoice> choose_backend(const PlanOptions& options) {
  if (options.numerics == Numerics::fast) {
    return unavailable("numerics", "fast", "no engine of this build sums in another order than strict");
  }
  if (options.backend != Backend::automatic && options.backend != Backend::reference) {
    return unavailable("backend", to_string(options.backend), "not in this build");
  }
  const Result<Isa> isa = requested_isa(options);
  if (!isa.ok()) return isa.error();
  if (*isa != Isa::automatic && *isa != Isa::scalar) {
    return unavailable("isa", to_string(*isa), "not in this build");
  }
  return BackendChoice{.backend = Backend::reference, .isa = Isa::scalar};
}

std::unique_ptr<const Executor> make_executor(const BackendChoice& /*choice*/, const Layer& layer, int threads,
                                              Numerics /*numerics*/) {
  return make_reference_executor(layer, threads);
}

}  // namespace mla_prolog
