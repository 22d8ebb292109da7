/* SPDX-License-Identifier: BSD-3-Clause
 * Decides which functions of an image are called directly: their instrumented copies and skeletons
 * know each other, so that nothing is recorded for the call (isa/memory/replay/recording_format.h).
 *
 * A function is called directly if it is analysed and has a copy, if it is left only by returns and
 * by jumps to such functions, and if no alarm waits for its entry. Which functions are is guessed
 * first. What was made of a function holds if all functions that it calls directly turned out to be
 * such, and if they still take the registers that it passes to them. */
#ifndef REGTRACE_ISA_MEMORY_DIRECT_CALLS_H
#define REGTRACE_ISA_MEMORY_DIRECT_CALLS_H

#include "isa/memory/skel.h"

struct direct {
    uint64_t start;
    bool is;     /* it may be called directly; direct_settle() clears guesses */
    bool called; /* some function calls it directly */
    /* it is left only by returns, and by jumps to functions among its calls */
    bool returns;
    /* mask of registers whose entry values direct callers know: such calls do not record them */
    uint16_t passed;
    size_t first, count; /* its entries in `calls` */
};

struct direct_call {
    uint64_t target;
    bool jump;       /* a jump: the target's return is the caller's too */
    uint16_t passed; /* the target's `passed` when this was noted */
};

struct directs {
    struct direct *list; /* sorted by address */
    size_t count, room;
    struct direct_call *calls;
    size_t call_count, call_room;
};

/* Appends the function at `start`, which lies above all others. Returns false if no memory is
 * left. */
bool direct_add(struct directs *d, uint64_t start, bool is);
void direct_free(struct directs *d);
bool direct_is(const struct directs *d, uint64_t start);

/* Returns the mask of registers whose entry values direct callers of the function know. */
uint16_t direct_passed(const struct directs *d, uint64_t start);
/* Adds the registers whose entry values `f` records, except rsp, to those that direct callers know
 * from now on. Updates f->passed. */
void direct_pass(struct directs *d, struct function *f);
/* Returns whether `f` begins at the start of a function that is called directly. */
bool direct_has(const struct function *f);
/* Returns whether `i` calls a function that is called directly. */
bool direct_calls(const struct function *f, const struct instruction *i);
/* Returns whether a listed function begins at `start`, called directly or not. */
bool direct_knows(const struct directs *d, uint64_t start);
/* Returns whether the block leaves `f` by a jump to a function that is called directly, which goes
 * to *target. */
bool direct_leaves(const struct function *f, uint32_t block, uint64_t *target);

/* Guesses how a listed function, which ends at `end`, is left: looks at its instructions alone.
 * Returns false if no memory is left. */
RT_MUST_CHECK bool direct_guess(struct directs *d, struct direct *x, const struct code *c,
                                uint64_t end);
/* Returns the index of a listed function. */
size_t direct_number(const struct directs *d, uint64_t start);
/* Notes in *x (an entry of the list, or a trial one) the direct calls of `f`, and whether only
 * returns and direct jumps leave it. made: `f` has a copy and a skeleton; without them nobody may
 * call it directly. If `f` is analysed, its expressions must be built. Returns false if no memory
 * is left. */
RT_MUST_CHECK bool direct_note(struct directs *d, struct direct *x, struct function *f, bool made);
/* Drops the functions that the notes show not to be called directly. Then sets `called`. */
void direct_settle(struct directs *d);
/* Returns whether what was made of function number `n` holds. */
bool direct_holds(const struct directs *d, size_t n);

#endif
