#include "runtime/backend/backends.hpp"

#include <string>

#include "mla_prolog/system.hpp"
#include "runtime/backend/ascend/device_call.hpp"
#include "runtime/backend/cpu/executor.hpp"
#include "runtime/backend/onednn/probe.hpp"
#include "runtime/backend/reference.hpp"

namespace mla_prolog {
namespace {

Error unavailable(const std::string& option, std::string_view name, const std::string& why) {
  return {{.code = StatusCode::param_invalid, .rule = Rule::option_unavailable},
          option + " " + std::string(name) + ": " + why};
}

BackendInfo cpu_backend() {
  const kernels::KernelSetChoice best = kernels::choose_kernel_set(Isa::automatic, nullptr, kernels::cpu_features());
  if (best && best.set->gemm != nullptr) return {Backend::cpu, true, ""};
  return {Backend::cpu, false, "no instruction set of this CPU has matmul kernels in this build"};
}

BackendInfo ascend_backend() {
  const ascend::Loaded& loaded = ascend::installed_library();
  const std::string reason = loaded.library == nullptr ? loaded.reason : ascend::why_unusable(*loaded.library, nullptr);
  return {Backend::ascend, reason.empty(), reason};
}

// Available when some type of operands is.
BackendInfo onednn_backend() {
  std::string reasons;
  for (const MatmulEngineInfo& engine : list_matmul_engines()) {
    if (engine.available) return {Backend::onednn, true, ""};
    if (reasons.find(engine.reason) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + engine.reason;
  }
  return {Backend::onednn, false, reasons};
}

// What a plan may use of oneDNN. In another order than strict only oneDNN sums.
onednn::Use use_of(const PlanOptions& options) {
  if (options.backend == Backend::onednn) return onednn::Use::wherever_possible;
  return options.backend == Backend::automatic ? onednn::Use::where_faster : onednn::Use::never;
}

// Whether numerics fast can be had: a float type of oneDNN, with a backend that may use it.
std::string why_not_fast(Backend backend) {
  if (backend != Backend::automatic && backend != Backend::onednn) {
    return "the " + std::string(to_string(backend)) + " backend has no engine that sums in another order than strict";
  }
  std::string reasons;
  for (const MatmulEngineInfo& engine : list_matmul_engines()) {
    if (engine.numerics != Numerics::fast) continue;
    if (engine.available) return {};
    reasons += (reasons.empty() ? "" : "; ") + engine.reason;
  }
  return reasons;
}

Result<BackendChoice> choose_device(const PlanOptions& options) {
  if (options.isa != Isa::automatic) {
    return unavailable("isa", to_string(options.isa), "the ascend backend runs on the device");
  }
  const BackendInfo device = ascend_backend();
  if (!device.available) return unavailable("backend", to_string(Backend::ascend), device.reason);
  BackendChoice choice;
  choice.backend = Backend::ascend;
  choice.device = ascend::installed_library().library;
  return choice;
}

}  // namespace

std::vector<MatmulEngineInfo> list_matmul_engines() {
  std::vector<MatmulEngineInfo> engines;
  const std::string version = onednn::version();
  for (const onednn::Type type : onednn::kTypes) {
    const onednn::Probe probe = onednn::probe(type);
    engines.push_back({.name = "oneDNN" + (version.empty() ? "" : " " + version) + " " + onednn::name(type),
                       .numerics = type == onednn::Type::s8 ? Numerics::strict : Numerics::fast,
                       .available = probe.reason.empty(),
                       .implementation = probe.implementation,
                       .reason = probe.reason});
  }
  return engines;
}

std::vector<BackendInfo> list_backends() {
  return {{Backend::reference, true, ""}, cpu_backend(), onednn_backend(), ascend_backend()};
}

Result<BackendChoice> choose_backend(const PlanOptions& options) {
  if (options.numerics == Numerics::fast) {
    const std::string reason = why_not_fast(options.backend);
    if (!reason.empty()) return unavailable("numerics", "fast", reason);
  }
  const bool on_device = options.memory == Memory::device;
  if (options.backend == Backend::ascend || (on_device && options.backend == Backend::automatic)) {
    return choose_device(options);
  }
  if (on_device) return unavailable("backend", to_string(options.backend), "cannot reach tensors in device memory");
  if (options.backend == Backend::onednn) {
    const BackendInfo onednn = onednn_backend();
    if (!onednn.available) return unavailable("backend", to_string(options.backend), onednn.reason);
  }
  if (options.backend == Backend::reference) {
    if (options.isa != Isa::automatic && options.isa != Isa::scalar) {
      return unavailable("isa", to_string(options.isa), "the reference backend is scalar");
    }
    return BackendChoice{};
  }
  const kernels::KernelSetChoice choice = kernels::choose_kernel_set(options.isa);
  if (!choice) {
    return Error{{.code = StatusCode::param_invalid, .rule = Rule::option_unavailable}, choice.error};
  }
  if (choice.set->isa == Isa::scalar) {
    if (options.numerics == Numerics::fast || options.backend == Backend::onednn) {
      return unavailable("isa", choice.set->name, "is the reference, which does without oneDNN");
    }
    return BackendChoice{};
  }
  if (choice.set->gemm == nullptr) {
    return unavailable("isa", choice.set->name, "has no matmul kernels in this build");
  }
  return BackendChoice{.backend = options.backend == Backend::onednn ? Backend::onednn : Backend::cpu,
                       .isa = choice.set->isa,
                       .kernels = choice.set,
                       .onednn = use_of(options),
                       .device = nullptr};
}

std::unique_ptr<const Executor> make_executor(const BackendChoice& choice, const Layer& layer, int threads,
                                              const PlanOptions& options) {
  if (choice.kernels != nullptr) {
    return make_cpu_executor(layer, *choice.kernels, threads,
                             {.block_tokens = options.block_tokens, .groups = options.crews},
                             {.use = choice.onednn, .numerics = options.numerics});
  }
  return make_reference_executor(layer, threads);
}

}  // namespace mla_prolog
