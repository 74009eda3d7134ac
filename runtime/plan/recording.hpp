// The contents of a Recording.
#pragma once

#include <chrono>
#include <memory>

#include "mla_prolog/explain.hpp"
#include "runtime/scheduler/recorder.hpp"

namespace mla_prolog {

struct Recording::Impl {
  Schedule schedule;
  std::unique_ptr<Recorder> recorder;  // null when the backend follows no schedule
  std::chrono::duration<double> elapsed{};
};

}  // namespace mla_prolog
