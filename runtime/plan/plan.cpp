// Planning: phase-one check, resolution to a Layer, choice of backend, sizes.
#include "mla_prolog/plan.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "mla_prolog/system.hpp"
#include "runtime/backend/backends.hpp"
#include "runtime/cache/slots.hpp"
#include "runtime/plan/plan_data.hpp"
#include "runtime/plan/verbose.hpp"
#include "runtime/scheduler/team.hpp"

namespace mla_prolog {
namespace {

// More than machines have: each thread takes its share of the workspace, and OpenMP runtimes end the process when they
// cannot have their threads.
constexpr int kMostThreads = 1024;

Error unavailable(std::string text) {
  return {{.code = StatusCode::param_invalid, .rule = Rule::option_unavailable}, std::move(text)};
}

// Empty when the value is one of the enumeration.
template <typename T>
std::string unknown_option(const char* name, T value) {
  if (parse<T>(to_string(value)).has_value()) return {};
  return std::string(name) + ": " + std::to_string(static_cast<int>(value)) + " is no value of this option";
}

// The first option with a value that does not exist; empty when there is none.
std::string unknown_option(const PlanOptions& options) {
  std::string text = unknown_option("domain", options.domain);
  if (text.empty()) text = unknown_option("soc", options.soc);
  if (text.empty()) text = unknown_option("profile", options.profile);
  if (text.empty()) text = unknown_option("backend", options.backend);
  if (text.empty()) text = unknown_option("isa", options.isa);
  if (text.empty()) text = unknown_option("numerics", options.numerics);
  if (text.empty() && options.memory != Memory::host && options.memory != Memory::device) {
    text = "memory: " + std::to_string(static_cast<int>(options.memory)) + " is no value of this option";
  }
  return text;
}

// The first tensor whose bytes do not fit an address space; `none` when all do. Offsets can then not overflow.
TensorId first_unaddressable(const Problem& problem) {
  constexpr auto kLimit = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  for (const TensorId id : all_tensors()) {
    if (problem[id].extent_bytes() > kLimit) return id;
  }
  return TensorId::none;
}

std::size_t round_up(std::size_t bytes) {
  return (bytes + Plan::kWorkspaceAlignment - 1) / Plan::kWorkspaceAlignment * Plan::kWorkspaceAlignment;
}

}  // namespace

Result<Plan> make_plan(const Problem& problem, const PlanOptions& options) {
  if (std::string text = unknown_option(options); !text.empty()) return unavailable(std::move(text));
  const CheckReport report = check(problem, {.domain = options.domain, .soc = options.soc, .api = ApiVersion::v3});
  if (report.code != StatusCode::success) {
    return Error{{.code = report.code, .rule = Rule::problem, .tensor = report.tensor}, report.message};
  }
  if (options.threads < 0 || options.threads > kMostThreads) {
    return unavailable("threads: " + std::to_string(options.threads) + " (must be 0, for all, or 1 to " +
                       std::to_string(kMostThreads) + ")");
  }
  if (options.block_tokens < 0 || options.crews < 0) {
    return unavailable("block_tokens, crews: " + std::to_string(options.block_tokens) + ", " +
                       std::to_string(options.crews) + " (must not be negative)");
  }
  const TensorId unaddressable = first_unaddressable(problem);
  if (unaddressable != TensorId::none) {
    return Error{{.code = StatusCode::param_invalid, .rule = Rule::problem, .tensor = unaddressable},
                 std::string(to_string(unaddressable)) + " " + problem[unaddressable].to_string() +
                     ": its bytes do not fit the address space"};
  }

  auto data = std::make_shared<detail::PlanData>();
  data->problem = problem;
  data->cann_workspace_bytes = report.cann_workspace_bytes;
  data->numerics = options.numerics;
  data->threads = options.threads == 0 ? default_threads() : options.threads;
  const Result<BackendChoice> choice = choose_backend(options);
  if (!choice.ok()) return choice.error();
  data->backend = choice->backend;
  data->isa = choice->isa;

  // In the strict domain a call without any output element is accepted whatever its shapes: there is nothing to
  // resolve.
  bool any_output = false;
  for (const TensorId id : all_tensors()) {
    any_output = any_output || ((is_output(id) || is_cache(id)) && problem[id].numel() > 0);
  }
  if (!any_output) {
    data->profile = options.profile == Profile::automatic ? Profile::a2 : options.profile;
    detail::announce(*data);
    return Plan(std::move(data));
  }

  Profile profile = options.profile;
  if (choice->device != nullptr) {
    const std::string reason = ascend::why_unusable(*choice->device, &problem);
    if (!reason.empty()) return unavailable("backend ascend: " + reason);
    // The device computes by its own arithmetic.
    const Profile own = ascend::profile_of(*choice->device);
    if (profile != Profile::automatic && profile != own) {
      return unavailable("profile " + std::string(to_string(profile)) + ": the device's is " +
                         std::string(to_string(own)));
    }
    profile = own;
  }
  Result<Layer> layer = resolve_layer(problem, options.domain, options.soc, profile);
  if (!layer.ok()) return layer.error();
  data->layer = *layer;
  data->profile = data->layer.profile;
  if (data->layer.tokens > 0) {
    if (choice->device != nullptr) {
      data->device = std::make_unique<ascend::DeviceCall>(choice->device, problem, options.memory);
    } else {
      initialise_runtime();
      data->executor = make_executor(*choice, data->layer, data->threads, options);
      if (data->executor->engines() != nullptr) data->backend = Backend::onednn;
      data->needs_prepared = choice->backend == Backend::onednn;
      if (data->needs_prepared && data->executor->engines() == nullptr) {
        return unavailable("backend onednn: no matmul of this problem is for it (" + data->executor->engine_summary() +
                           ")");
      }
    }
    data->resolves_slots = data->layer.writes_cache() && options.memory == Memory::host;
    data->slot_bytes =
        data->resolves_slots ? round_up(slot_scratch_bytes(data->layer.cache_mode, data->layer.tokens)) : 0;
    data->workspace_bytes = data->slot_bytes + (data->executor == nullptr ? 0 : data->executor->workspace_bytes());
  }
  detail::announce(*data);
  return Plan(std::move(data));
}

std::size_t Plan::workspace_bytes() const noexcept { return data_->workspace_bytes; }
std::uint64_t Plan::cann_workspace_bytes() const noexcept { return data_->cann_workspace_bytes; }
const Problem& Plan::problem() const noexcept { return data_->problem; }
Profile Plan::profile() const noexcept { return data_->profile; }
Backend Plan::backend() const noexcept { return data_->backend; }
Isa Plan::isa() const noexcept { return data_->isa; }
int Plan::threads() const noexcept { return data_->threads; }

std::string Plan::describe() const {
  const detail::PlanData& plan = *data_;
  const Layer& layer = plan.layer;
  const Attributes& attributes = plan.problem.attributes;
  std::string text;
  text += "scenario w" + std::to_string(attributes.weight_quant_mode) + "kv" +
          std::to_string(attributes.kv_cache_quant_mode) + ", profile " + std::string(to_string(plan.profile)) + "\n";
  text += "T " + std::to_string(layer.tokens) + ", He " + std::to_string(layer.he) + ", Hcq " +
          std::to_string(layer.hcq) + ", N " + std::to_string(layer.n) + ", D " + std::to_string(layer.d) + "\n";
  text += "cache " + attributes.cache_mode + ", blocks " + std::to_string(layer.block_num) + " x " +
          std::to_string(layer.block_size) + "\n";
  text += "backend " + std::string(to_string(plan.backend)) + ", isa " + std::string(to_string(plan.isa)) +
          ", numerics " + std::string(to_string(plan.numerics)) + ", threads " + std::to_string(plan.threads) + "\n";
  text += "workspace " + std::to_string(plan.workspace_bytes) + " bytes\n";
  if (plan.device != nullptr) return text + plan.device->describe();
  text += plan.executor == nullptr ? "nothing to compute\n" : plan.executor->describe();
  return text;
}

}  // namespace mla_prolog
