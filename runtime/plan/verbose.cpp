#include "runtime/plan/verbose.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mla_prolog::detail {
namespace {

// Read anew for each plan: nobody's first call decides for the whole process.
bool wanted() {
  const char* const text = std::getenv("MLA_PROLOG_VERBOSE");
  return text != nullptr && std::strtol(text, nullptr, 10) > 0;
}

std::string matmuls_of(const PlanData& plan) {
  if (plan.device != nullptr) return "matmuls by the device";
  if (plan.executor == nullptr) return "nothing to compute";
  return "matmuls " + plan.executor->engine_summary();
}

}  // namespace

void announce(const PlanData& plan) {
  if (!wanted()) return;
  const Attributes& attributes = plan.problem.attributes;
  const std::string line = "mla_prolog: plan: scenario w" + std::to_string(attributes.weight_quant_mode) + "kv" +
                           std::to_string(attributes.kv_cache_quant_mode) + ", profile " +
                           std::string(to_string(plan.profile)) + ", tokens " + std::to_string(plan.layer.tokens) +
                           ", isa " + std::string(to_string(plan.isa)) + ", threads " + std::to_string(plan.threads) +
                           ", backend " + std::string(to_string(plan.backend)) + ", numerics " +
                           std::string(to_string(plan.numerics)) + "; " + matmuls_of(plan) + "; workspace " +
                           std::to_string(plan.workspace_bytes) + " bytes\n";
  // In one piece, so that lines of several threads do not mix.
  std::fputs(line.c_str(), stderr);
}

}  // namespace mla_prolog::detail
