/* SPDX-License-Identifier: BSD-3-Clause
 * Rewrites instructions to run at another address: operands relative to the instruction pointer,
 * branches that are too short, calls. */
#ifndef REGTRACE_ISA_PLAN_RELOCATE_H
#define REGTRACE_ISA_PLAN_RELOCATE_H

#include "isa/decode/code_map.h"
#include "isa/isa.h"

enum { RELOCATE_BYTES = 128, RELOCATE_FIXUPS = 16, RELOCATE_STEPS = 16 };

/* Relocated code. Empty if all bytes are zero. */
struct relocated {
    uint8_t code[RELOCATE_BYTES];
    unsigned bytes;
    struct isa_fixup fixups[RELOCATE_FIXUPS];
    unsigned fixup_count;
    struct isa_step steps[RELOCATE_STEPS];
    unsigned step_count;
    uint64_t first;     /* of the first instruction */
    unsigned displaced; /* bytes of the original instructions */
    /* It is a single call, written as a jump: the code that enters it first pushes the return
     * address. */
    bool call;
    bool ends; /* control does not continue after it */
    bool syscall;
};

/* Appends the instruction that follows the last one. Returns NULL, or the reason why it cannot run
 * elsewhere; then *r is unchanged. */
const char *relocate_add(struct relocated *r, const struct instruction *i,
                         const uint8_t *bytes) RT_MUST_CHECK;

/* Appends the jump back to the code after the displaced bytes, if control gets there. Returns NULL,
 * or the reason why that fails. */
const char *relocate_end(struct relocated *r) RT_MUST_CHECK;

#endif
