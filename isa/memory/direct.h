/* SPDX-License-Identifier: BSD-3-Clause
 * Which functions of an image are called directly: between clones, and skeletons, that know each other, so that nothing is recorded for the call
 * (isa/memory/replay/stream.h).
 *
 * A function is, if it is analysed and has a clone, if it is left by returns and by jumps to such functions alone, and if nobody waits for it
 * to be entered. Who is, is guessed first; what was made of a function holds if all that it calls directly turned out to be, and still takes the
 * registers that it hands to them. */
#ifndef REGTRACE_ISA_MEMORY_DIRECT_H
#define REGTRACE_ISA_MEMORY_DIRECT_H

#include "isa/memory/skel.h"

struct direct {
    uint64_t start;
    bool is;
    bool called; /* by some function, directly */
    bool
        returns; /* it is left as it should, but for jumps to other functions, which are among its calls */
    uint16_t
        passed; /* registers that direct callers know, by number: they are not recorded there */
    size_t first, count; /* calls */
};

struct direct_call {
    uint64_t target;
    bool jump;       /* its own return is the caller's */
    uint16_t passed; /* as that was */
};

struct directs {
    struct direct *list; /* by address */
    size_t count, room;
    struct direct_call *calls;
    size_t call_count, call_room;
};

/* One more, which begins behind the others. False: no memory left. */
bool direct_add(struct directs *d, uint64_t start, bool is);
void direct_free(struct directs *d);
bool direct_is(const struct directs *d, uint64_t start);

/* Registers that direct callers of it know. */
uint16_t direct_passed(const struct directs *d, uint64_t start);
/* Recorded ones that it is entered with, but for the stack pointer: known from now on. */
void direct_pass(struct directs *d, struct function *f);
/* Is it such a function, from its begin? */
bool direct_has(const struct function *f);
/* Is it a call of such a function? */
bool direct_calls(const struct function *f, const struct instruction *i);
/* Is it one of the functions, called directly or not? */
bool direct_knows(const struct directs *d, uint64_t start);
/* Is the function left there, by a jump to such a function? */
bool direct_leaves(const struct function *f, uint32_t block, uint64_t *target);

/* How one of the list is left, by a look at its instructions alone. False: no memory left. */
RT_MUST_CHECK bool direct_guess(struct directs *d, struct direct *x, const struct code *c,
                                uint64_t end);
/* Of one that is in the list. */
size_t direct_number(const struct directs *d, uint64_t start);
/* What a function (of the list, or another) calls and how it is left; made: there is all that it needs. An analysed one has expressions. False: no memory left. */
RT_MUST_CHECK bool direct_note(struct directs *d, struct direct *x, struct function *f, bool made);
/* Takes out those that are none, by what is noted; and finds who is called. */
void direct_settle(struct directs *d);
/* What has been made of number n holds. */
bool direct_holds(const struct directs *d, size_t n);

#endif
