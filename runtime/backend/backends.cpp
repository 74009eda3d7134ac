#include "runtime/backend/backends.hpp"

#include <string>

#include "mla_prolog/system.hpp"
#include "runtime/backend/ascend/device_call.hpp"
#include "runtime/backend/cpu/executor.hpp"
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

std::vector<BackendInfo> list_backends() {
  return {
      {Backend::reference, true, ""}, cpu_backend(), {Backend::onednn, false, "not in this build"}, ascend_backend()};
}

Result<BackendChoice> choose_backend(const PlanOptions& options) {
  if (options.numerics == Numerics::fast) {
    return unavailable("numerics", "fast", "no engine of this build sums in another order than strict");
  }
  const bool on_device = options.memory == Memory::device;
  if (options.backend == Backend::ascend || (on_device && options.backend == Backend::automatic)) {
    return choose_device(options);
  }
  if (on_device) return unavailable("backend", to_string(options.backend), "cannot reach tensors in device memory");
  if (options.backend == Backend::onednn) {
    return unavailable("backend", to_string(options.backend), "not in this build");
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
  if (choice.set->isa == Isa::scalar) return BackendChoice{};
  if (choice.set->gemm == nullptr) {
    return unavailable("isa", choice.set->name, "has no matmul kernels in this build");
  }
  return BackendChoice{.backend = Backend::cpu, .isa = choice.set->isa, .kernels = choice.set, .device = nullptr};
}

std::unique_ptr<const Executor> make_executor(const BackendChoice& choice, const Layer& layer, int threads,
                                              Numerics /*numerics*/) {
  if (choice.kernels != nullptr) return make_cpu_executor(layer, *choice.kernels, threads);
  return make_reference_executor(layer, threads);
}

}  // namespace mla_prolog
