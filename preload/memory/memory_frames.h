/* SPDX-License-Identifier: BSD-3-Clause
 * Threads led into clones and out of them in mid-function: return addresses on their stacks, and contexts that they go on with. Of
 * preload/memory*.c. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_FRAMES_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_FRAMES_H

#include "base/format/memory.h"
#include "preload/memory/memory.h"

#include <ucontext.h>

#define MEMORY_LEVELS 4u /* nested handlers, and the code below them */
#define MEMORY_POSTPONED 4u
#define MEMORY_HANDLERS 8u /* nested handlers without a mapping of their own */

/* The state of memory traces in a thread. It has its own mapping, because it is too large for
 * static TLS. */
struct memory_thread {
    struct memory_flight flight;     /* the last jump */
    struct memory_handler *handlers; /* the innermost one that runs */
    struct memory_handler room[MEMORY_HANDLERS];
    struct memory_file *files[MEMORY_LEVELS]; /* NULL: none yet */
    unsigned exceptions;                      /* that are on their way to their catch */
    const void *raised;                       /* the last of them */
    unsigned postponed_count;
    siginfo_t postponed[MEMORY_POSTPONED]; /* signals of ours that wait until the last is caught */
    unsigned level; /* index of the file in use; each nested handler adds one */
    bool wanted;    /* a window is open */
    struct memory_unwound unwound;
    struct { /* of the window */
        uint64_t bytes;
        enum memory_end end;
    } result;
    uint64_t before_vfork;
    uintptr_t stepped_at;
    uintptr_t repeats; /* where a step led to itself outside instrumented copies, else 0 */
};
/* Never NULL: threads without a mapping share one struct, which stays zero. Code that stores into
 * it first calls memory_thread_ready(), which returns false if there is no memory or the thread has
 * ended. */
extern __thread struct memory_thread *memory_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
bool memory_thread_ready(void);
bool memory_thread_exists(void);
void memory_thread_over(void);

/* Returns a record of what a handler interrupts, or NULL without memory. */
struct memory_handler *memory_handler_take(const ucontext_t *uc);
void memory_handler_give(struct memory_handler *h);

/* Of the thread's own stack, from there to `to`: does anything return into a clone? */
bool memory_has_frames(uintptr_t from, uintptr_t to);
/* What returns into clones, of the thread's own stack from there to `to`, or jumps there, does so into the functions themselves. */
void memory_leave_frames(uintptr_t from, uintptr_t to);
/* So does what is on its way in them; where a jump is about to lead (CLONE_TARGET). */
void memory_leave_slots(struct memory_flight *flight, uint64_t *target);
/* In a clone, or what leads there and into the function? */
bool memory_is_made(uintptr_t at);
/* A thread that was interrupted there goes on in the function, at once or as soon as what records there, or leads there, is over. */
void memory_leave_made(void *context);
/* It runs a handler of the program's first. */
void memory_stop_steps(void *context);

/* Where the program is now, whoever runs meanwhile. */
extern __thread struct memory_interrupted memory_where
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Is it in no clone that the last window has left it in, nor on the way to one or into a function? If so, it goes on in the function, at once or later: then
 * memory_stepped has a window that is open by then begin. */
bool memory_has_left_made(void);
/* This library's code? */
bool memory_is_own(uintptr_t at);
/* Of a thread that was interrupted as a hook decides by whether a window is open, which has changed: it does so once more. */
bool memory_decide_again(void *context);
/* Whom the program's innermost handler has interrupted: its stack pointer; 0: none runs (memory.c). */
uintptr_t memory_handler_stack(void);
/* A window that is open, and has not begun, does (memory.c). */
void memory_begin_late(void *context);
/* The thread goes on in a clone of what it is in, or of the first of those who have called that; or of where a jump of its own leads. */
void memory_enter_late(const struct memory_interrupted *i);
/* Returns the address of our code where the thread's last jump lands, outside instrumented
 * copies. */
uintptr_t memory_flight_lands(void);
/* An exception's has come to the landing pad. */
void memory_flight_at(const uintptr_t kept[6], uintptr_t stack);
/* memory.c, called there. */
void memory_lands(const uintptr_t kept[6], uintptr_t stack) RT_HIDDEN;
/* What clones' hooks do (probe_clones_hooks.c), kept as above. Late clones return to that place: whoever is there is entered. */
void memory_enter_returning(uintptr_t *place, const uintptr_t kept[6]);
/* A jump leads to CLONE_TARGET, or to a clone of what is there; where there is none, whoever called is entered. */
void memory_enter_jump(uintptr_t *stack, const uintptr_t kept[6]);
/* That jump is none that its function's skeleton follows (memory.c). */
void memory_lost(uintptr_t *stack, const uintptr_t kept[6]);
/* A late clone leaves for CLONE_TARGET: whoever called is entered. */
void memory_enter_leaving(uintptr_t *stack, const uintptr_t kept[6]);

/* The register that holds the pointer in a store of a clone's (isa/memory/copy/emit.c, lanes.c): behind prefixes and opcode stands ModRM, behind that
 * SIB. Intel's manual, volume 2. */
unsigned memory_store_base(const uint8_t *code);
/* What the thread's clones write into now; NULL: nothing yet. It has no more room, and its stretch has ended: the window's recording is over. */
struct memory_file *memory_file_now(void);
void memory_has_no_room(void);

#endif
