// One computation on an Ascend device, with tensors in host or device memory.
#pragma once

#include <memory>
#include <string>

#include "mla_prolog/plan.hpp"
#include "mla_prolog/problem.hpp"
#include "mla_prolog/status.hpp"
#include "runtime/backend/ascend/library.hpp"

namespace mla_prolog::ascend {

/// Runs both phases on a stream of its own and waits. From host memory the inputs are copied to the device, outputs and
/// caches back; nothing is written on failure. Tensors in device memory are taken where they are. A failure has the
/// rule `backend_failed`, the CANN function's name as parameter, with CANN's text about it where there is one, and
/// its status as value.
class DeviceCall {
 public:
  DeviceCall(std::shared_ptr<const Library> library, const Problem& problem, Memory memory)
      : library_(std::move(library)), problem_(problem), memory_(memory) {}

  Status run(const Tensors& tensors) const noexcept;
  std::string describe() const;

 private:
  std::shared_ptr<const Library> library_;
  Problem problem_;
  Memory memory_;
};

/// Whether the device can be used, beyond its libraries being there; empty when it can, else why not. `problem` null:
/// asks for the device only.
std::string why_unusable(const Library& library, const Problem* problem);

Profile profile_of(const Library& library);

}  // namespace mla_prolog::ascend
