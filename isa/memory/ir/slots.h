/* SPDX-License-Identifier: BSD-3-Clause
 * Slots of a function's own frame that hold values of registers: spilled values, variables of
 * unoptimized code. If no address of the frame goes anywhere but into the stack and the frame
 * pointer, nobody else writes there, and a load returns what was stored.
 *
 * Functions are assumed to write to nothing in their callers' frames but their own arguments (psABI
 * 3.2.1). */
#ifndef REGTRACE_ISA_MEMORY_IR_SLOTS_H
#define REGTRACE_ISA_MEMORY_IR_SLOTS_H

#include "isa/memory/ir/lift.h"

#include <limits.h>

enum { SLOT_NONE = -1, SLOT_FIRST = SKEL_VARIABLES + 1, SLOTS_MOST = 256 - SLOT_FIRST };

/* Sets f->frame, f->slots and f->slot_count. There are no slots if the frame's address goes
 * elsewhere or is not known throughout. */
void slots_find(struct function *f);
/* Returns the variable of a memory operand that is a slot; SLOT_NONE: it is no slot, or not in the
 * frame. */
int slots_of(const struct one *x, unsigned n);
/* Makes the slots unknown that share bytes with written operand n, except the variable `but`. */
void slots_overwrite(const struct one *x, unsigned n, int but);
/* Makes the slots below the stack pointer unknown, because a called function writes there. */
void slots_call(const struct one *x);

#endif
