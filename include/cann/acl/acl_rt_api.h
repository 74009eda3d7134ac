/* The runtime's C++ convenience header. Its overloads are not publicly documented and are not offered: a program that
 * includes it finds the C functions of acl_rt.h. Usable from C99 and C++11. */
#ifndef MLA_PROLOG_CANN_ACL_RT_API_H
#define MLA_PROLOG_CANN_ACL_RT_API_H

#include "acl_rt.h"

#endif
