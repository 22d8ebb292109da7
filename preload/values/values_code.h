/* SPDX-License-Identifier: BSD-3-Clause
 * The table of instructions that samples have met. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_CODE_H
#define REGTRACE_PRELOAD_VALUES_VALUES_CODE_H

#include "preload/values/values_follow.h"

#define VALUES_SLOTS (2 * VALUES_CODES_MAX)

struct values_table {
    _Atomic uint32_t
        *slots; /* hash table by address: number of the code, 0 none; open addressing */
    struct values_code *codes;
};
extern struct values_table values_table;

static inline uint32_t values_slot(uint64_t address)
{
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 46) % VALUES_SLOTS;
}

/* Maps the table. Called in the constructor. Returns false if there is no memory. */
RT_MUST_CHECK bool values_codes_prepare(void);
/* Call it in the child of fork: releases the locks of threads that do not exist there. */
void values_codes_forked(void);
/* Returns true if the address is in this library's code. */
bool values_is_own(uintptr_t address);

#endif
