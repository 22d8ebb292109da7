/* SPDX-License-Identifier: BSD-3-Clause
 * Liveness of general registers and of the flags: code that is put between a function's
 * instructions may change dead ones. */
#ifndef REGTRACE_ISA_MEMORY_IR_LIVE_H
#define REGTRACE_ISA_MEMORY_IR_LIVE_H

#include "isa/memory/skel.h"

/* Masks have a bit for each register, by number. */
struct live {
    struct function *f;
    uint16_t *uses, *kills; /* by instruction */
    uint16_t *in;           /* by block: live at its start */
    uint8_t *flags;         /* by instruction: 1 it uses some flags, 2 it changes all of them */
    bool *flags_in;         /* by block: live at its start; calls and returns pass no flags on */
    /* Registers that the function itself writes. Others may hold values that its caller expects it
     * to preserve, whatever the ABI says: compilers look into the functions that they call (gcc's
     * -fipa-ra). */
    uint16_t written;
    /* Registers that its instructions name, calls apart. All if one cannot be decoded. */
    uint16_t touched;
};

/* All registers are live where code is called or jumped to. A call kills none: those that are live
 * after it are live before it. */
struct live live_find(struct function *f);
/* Return the live registers after instruction `at` of the block, and before it. */
uint16_t live_after(const struct live *l, uint32_t block, uint32_t at);
uint16_t live_before(const struct live *l, uint32_t block, uint32_t at);

#endif
