// What every exported function starts with.
#pragma once

#include "cann/runtime/checker.hpp"

/// The exported function and the program's code that called it. A macro, because only the function itself knows both.
#define MLA_PROLOG_CALL_SITE() \
  ::mla_prolog::cann::Site { __func__, __builtin_return_address(0) }
