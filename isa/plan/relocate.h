/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions made to run elsewhere: operands relative to the instruction pointer, branches that are too short, calls. */
#ifndef REGTRACE_ISA_PLAN_RELOCATE_H
#define REGTRACE_ISA_PLAN_RELOCATE_H

#include "isa/decode/decode.h"
#include "isa/isa.h"

enum { RELOCATE_BYTES = 128, RELOCATE_FIXUPS = 16, RELOCATE_STEPS = 16 };

/* An all-zero one is empty. */
struct relocated {
    uint8_t code[RELOCATE_BYTES];
    unsigned bytes;
    struct isa_fixup fixups[RELOCATE_FIXUPS];
    unsigned fixup_count;
    struct isa_step steps[RELOCATE_STEPS];
    unsigned step_count;
    uint64_t first;     /* address of the first instruction */
    unsigned displaced; /* bytes of the originals */
    bool call;          /* is one call, written as a jump: enter with the return address pushed */
    bool ends;          /* control does not go on behind what it has */
    bool syscall;
};

/* One instruction more, which follows the last. NULL, or why it cannot run elsewhere; then nothing has changed. */
const char *relocate_add(struct relocated *r, const struct instruction *i,
                         const uint8_t *bytes) RT_MUST_CHECK;

/* The jump back to what follows, where control gets there. NULL, or why not. */
const char *relocate_end(struct relocated *r) RT_MUST_CHECK;

#endif
