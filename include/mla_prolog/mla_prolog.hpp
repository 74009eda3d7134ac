// Everything.
#pragma once

#include "mla_prolog/blocks.hpp"
#include "mla_prolog/convert.hpp"
#include "mla_prolog/explain.hpp"
#include "mla_prolog/plan.hpp"
#include "mla_prolog/prepare.hpp"
#include "mla_prolog/problem.hpp"
#include "mla_prolog/status.hpp"
#include "mla_prolog/system.hpp"
#include "mla_prolog/tensor.hpp"
#include "mla_prolog/types.hpp"
