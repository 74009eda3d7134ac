// Host code that dereferences a device address faults, as it does with a device; this says what happened.
#pragma once

namespace mla_prolog::cann {

/// Watches for such faults from now on, unless the program handles SIGSEGV itself or checks are off.
void watch_for_faults();

}  // namespace mla_prolog::cann
