/* How a program tells the emulated runtime from a device: the symbol exists nowhere else (look it up with dlsym if the
 * program must link against both). */
#ifndef MLA_PROLOG_EMULATION_H
#define MLA_PROLOG_EMULATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Always 1. */
int32_t mla_prolog_is_emulated(void);

/* Findings of the checker so far in this process. */
uint64_t mla_prolog_finding_count(void);

#ifdef __cplusplus
}
#endif

#endif
