/* Offline models are not emulated; the header exists for programs that include it. */
#ifndef MLA_PROLOG_CANN_ACL_MDL_H
#define MLA_PROLOG_CANN_ACL_MDL_H

#include "acl_base.h"
#include "acl_rt.h"

#endif
