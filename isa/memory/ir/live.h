/* SPDX-License-Identifier: BSD-3-Clause
 * Which general registers, and whether the flags, still matter where: code that is put between a function's instructions may change the others. */
#ifndef REGTRACE_ISA_MEMORY_IR_LIVE_H
#define REGTRACE_ISA_MEMORY_IR_LIVE_H

#include "isa/memory/skel.h"

/* Bits: registers by number. */
struct live {
    struct function *f;
    uint16_t *uses, *kills; /* by instruction */
    uint16_t *in;           /* by block: those that matter as it is entered */
    uint8_t *flags;         /* by instruction: 1 it uses some of the flags, 2 it changes all */
    bool *
        flags_in; /* by block: they matter as it is entered. No call, nor return, hands them over */
    /* The function writes them itself. Others may hold what its caller knows that it keeps, whatever the ABI says: compilers look
     * into the functions that they call (gcc's -fipa-ra). */
    uint16_t written;
};

/* Everything may matter to what is called or jumped to, and behind a call whatever mattered without it. */
struct live live_find(struct function *f);
/* As the block is entered; behind its instruction `at`; before it. */
uint16_t live_behind(const struct live *l, uint32_t block, uint32_t at);
uint16_t live_before(const struct live *l, uint32_t block, uint32_t at);

#endif
