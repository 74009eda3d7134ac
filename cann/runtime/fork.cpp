// What a fork must not break. A lock that another thread holds at that moment would stay locked in the child for ever,
// and what it guards half changed: all of them are taken first. Streams and callbacks, whose threads the child does not
// have, begin anew there.
#include <pthread.h>

#include <array>
#include <mutex>

#include "cann/meta/buffer_pool.hpp"
#include "cann/meta/executor.hpp"
#include "cann/meta/objects.hpp"
#include "cann/runtime/checker.hpp"
#include "cann/runtime/runtime.hpp"

namespace mla_prolog::cann {
namespace {

/// In the order in which they may be taken.
auto locks() {
  Runtime* const runtime = Runtime::existing();
  return std::array{runtime == nullptr ? nullptr : &runtime->mutex,
                    &Pool<aclTensorList>::instance().mutex(),
                    &Pool<aclScalarList>::instance().mutex(),
                    &Pool<aclTensor>::instance().mutex(),
                    &Pool<aclScalar>::instance().mutex(),
                    &Pool<aclIntArray>::instance().mutex(),
                    &Pool<aclFloatArray>::instance().mutex(),
                    &Pool<aclBoolArray>::instance().mutex(),
                    &Pool<aclOpExecutor>::instance().mutex(),
                    &buffer_mutex(),
                    &journal_mutex()};
}

/// What prepare() has locked; written and read while it is.
decltype(locks()) locked;

void prepare() {
  const auto all = locks();
  for (std::mutex* mutex : all) {
    if (mutex != nullptr) mutex->lock();
  }
  locked = all;
}

void release() {
  const auto all = locked;
  for (auto mutex = all.rbegin(); mutex != all.rend(); ++mutex) {
    if (*mutex != nullptr) (*mutex)->unlock();
  }
}

[[maybe_unused]] const int registered = pthread_atfork(prepare, release, release);

}  // namespace
}  // namespace mla_prolog::cann
