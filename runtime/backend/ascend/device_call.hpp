// One computation on an Ascend device, with tensors in host memory.
#pragma once

#include <memory>
#include <string>

#include "mla_prolog/problem.hpp"
#include "mla_prolog/status.hpp"
#include "runtime/backend/ascend/library.hpp"

namespace mla_prolog::ascend {

/// Copies the inputs to the device, runs both phases, waits, copies outputs and caches back; nothing is written on
/// failure. A failure has the rule `backend_failed`, the CANN function's name as parameter, and its status as value.
class DeviceCall {
 public:
  DeviceCall(std::shared_ptr<const Library> library, const Problem& problem)
      : library_(std::move(library)), problem_(problem) {}

  Status run(const Tensors& tensors) const noexcept;
  std::string describe() const;

 private:
  std::shared_ptr<const Library> library_;
  Problem problem_;
};

/// Whether the device can be used, beyond its libraries being there; empty when it can, else why not. `problem` null:
/// asks for the device only.
std::string why_unusable(const Library& library, const Problem* problem);

Profile profile_of(const Library& library);

}  // namespace mla_prolog::ascend
