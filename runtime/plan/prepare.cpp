#include "mla_prolog/prepare.hpp"

#include <new>
#include <string>

#include "runtime/plan/plan_data.hpp"

namespace mla_prolog {

std::size_t PreparedWeights::bytes() const noexcept { return data_ == nullptr ? 0 : data_->bytes; }

Result<PreparedWeights> prepare_weights(const Plan& plan, const Tensors& tensors) {
  const detail::PlanData& data = plan.data();
  const onednn::Stages* engines = data.executor == nullptr ? nullptr : data.executor->engines();
  if (engines == nullptr) return PreparedWeights();
  for (const TensorId id :
       {TensorId::weight_dq, TensorId::weight_dkv_kr, TensorId::weight_uq_qr, TensorId::weight_uk}) {
    if (tensors.get(id) != nullptr) continue;
    const Status status{.code = StatusCode::param_nullptr, .rule = Rule::pointer_null, .tensor = id};
    return Error{status, message(status)};
  }
  try {
    auto prepared = onednn::prepare_matrices(*engines, data.layer, tensors, data.threads);
    if (prepared != nullptr) return PreparedWeights(std::move(prepared));
    return Error{{.code = StatusCode::runtime_error, .rule = Rule::backend_failed, .parameter = "oneDNN"},
                 "oneDNN cannot lay out the weights"};
  } catch (const std::bad_alloc&) {
    return Error{{.code = StatusCode::runtime_error, .rule = Rule::out_of_memory}, "prepared weights: out of memory"};
  }
}

}  // namespace mla_prolog
