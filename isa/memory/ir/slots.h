/* SPDX-License-Identifier: BSD-3-Clause
 * Places of a function's own frame that hold what registers held: spilled values, variables of code that is not optimised. Where no address of the
 * frame goes anywhere but into the stack and the frame pointer, nobody else writes there, and what is loaded is what was stored.
 *
 * Functions are taken to write to nothing of their callers' frames but their own arguments (psABI 3.2.1). */
#ifndef REGTRACE_ISA_MEMORY_IR_SLOTS_H
#define REGTRACE_ISA_MEMORY_IR_SLOTS_H

#include "isa/memory/ir/lift.h"

#include <limits.h>

enum { SLOT_NONE = -1, SLOT_FIRST = SKEL_VARIABLES + 1, SLOTS_MOST = 256 - SLOT_FIRST };

/* Sets f->frame, f->slots, f->slot_count; none: the frame's address goes elsewhere, or is not known throughout. */
void slots_find(struct function *f);
/* The variable of a memory operand that is a slot; SLOT_NONE: it is none, or not in the frame. */
int slots_of(const struct one *x, unsigned n);
/* Slots that share bytes with an operand that is written, but for one, hold nothing known from here on. */
void slots_overwrite(const struct one *x, unsigned n, int but);
/* So do those behind the stack pointer, where a call leads. */
void slots_call(const struct one *x);

#endif
