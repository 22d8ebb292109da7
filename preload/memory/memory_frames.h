/* SPDX-License-Identifier: BSD-3-Clause
 * Leads threads into instrumented copies and out of them in mid-function, by return addresses on
 * their stacks and by the contexts with which they continue. For the files of preload/memory/
 * alone. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_FRAMES_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_FRAMES_H

#include "base/format/memory_recording.h"
#include "preload/memory/memory.h"

#include <ucontext.h>

#define MEMORY_LEVELS 4u /* nested handlers, and the code outside handlers */
#define MEMORY_POSTPONED 64u
#define MEMORY_HANDLERS 8u /* nested handlers that need no mapping for their records */

/* The state of memory traces in a thread. It has its own mapping, because it is too large for
 * static TLS. */
struct memory_thread {
    struct memory_flight flight;     /* the last jump or exception */
    struct memory_handler *handlers; /* the innermost handler that runs */
    struct memory_handler room[MEMORY_HANDLERS];
    struct memory_file *files[MEMORY_LEVELS]; /* NULL: none yet */
    unsigned exceptions;                      /* not caught yet */
    const void *raised;                       /* the last exception */
    unsigned postponed_count;
    /* Our signals that wait until the last exception is caught: each kind and timer once. */
    siginfo_t postponed[MEMORY_POSTPONED];
    unsigned level; /* index of the file in use; each nested handler adds one */
    bool wanted;    /* a window is open */
    struct memory_unwound unwound;
    struct { /* of the window */
        uint64_t bytes;
        enum memory_end end;
    } result;
    uint64_t before_vfork;
    uint64_t delayed; /* signals, as bits, that wait until steps have led out of a copy's code */
    uintptr_t stepped_at;
    /* The instruction outside copies at which the last single step both began and ended, as a
     * repeated string instruction does, which traps at each iteration. The thread is not stepped
     * through it. 0: none. */
    uintptr_t repeats;
};
/* Never NULL: threads without a mapping share one struct, which stays zero. Code that stores into
 * it first calls memory_thread_ready(), which returns false if there is no memory or the thread has
 * ended. */
extern __thread struct memory_thread *memory_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
bool memory_thread_ready(void);
bool memory_thread_exists(void);

/* Returns a record of what a handler interrupts, or NULL without memory. */
struct memory_handler *memory_handler_take(const ucontext_t *uc);
void memory_handler_give(struct memory_handler *h);

/* Returns true if a word of the thread's own stack, between these addresses, returns into a
 * copy. */
bool memory_has_frames(uintptr_t from, uintptr_t to);
/* Leads return addresses into copies, on the thread's own stack between these addresses, and jumps
 * on their way into copies to the functions themselves. */
void memory_leave_frames(uintptr_t from, uintptr_t to);
/* Does the same for a jump or exception on its way, and for COPY_TARGET, the target of the next
 * jump. */
void memory_leave_slots(struct memory_flight *flight, uint64_t *target);
/* Returns true if `at` is in a copy, or in other code of regtrace's making that leads there or into
 * the function. */
bool memory_is_made(uintptr_t at);
/* Makes a thread that was interrupted there continue in the function: at once, or by single steps
 * until the code that records or that leads there is over. */
void memory_leave_made(void *context);
/* memory_step() makes a thread that goes on with this context trap after its next instruction;
 * memory_step_no_more() undoes that. */
void memory_step(void *context);
void memory_step_no_more(void *context);
/* Ends the steps, because a handler of the program runs first. context: of that handler. If the
 * steps are to begin in another context below, of a handler of ours that the program's has
 * interrupted, `h` notes that for memory_step_again(), which is called after the program's
 * handler. */
void memory_stop_steps(struct memory_handler *h, void *context);
void memory_step_again(const struct memory_handler *h);
/* For signals that memory_delays() has delayed: after a step; when the thread has come out of the
 * copy. */
void memory_delayed_step(void *context);
void memory_delayed_come(void *context);

/* Where the program is now, whatever code of ours runs in the meantime. */
extern __thread struct memory_position memory_position
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Makes the thread leave the copy in which the last window left it, and code that leads to a copy
 * or into a function. Returns true if the thread is out of both. Otherwise the thread gets out
 * later, and memory_stepped() then begins to record a window that is open by then. */
bool memory_has_left_made(void);
/* Returns true for addresses in this library's code. */
bool memory_is_own(uintptr_t at);
/* If the thread was interrupted within a hook's test of whether a window is open, makes it begin
 * that test again, because a window has opened or closed since. Returns true if it was. */
bool memory_decide_again(void *context);
/* Returns the stack pointer of the code that the program's innermost handler has interrupted; 0: no
 * handler runs. In memory.c. */
uintptr_t memory_handler_stack(void);
/* Begins to record a window that is open and has not begun. In memory.c. */
void memory_begin_late(void *context);
/* The thread was moved into a copy, and back to the original code because a system call goes on
 * there. Moves it again unless the window has closed. */
void memory_enter_again(void *context);
/* Makes the thread continue at a mid-function entry: of the code that it is in, or of the first
 * caller that has one, or of the target of a jump on its way. */
void memory_enter_late(const struct memory_position *i);
/* Returns the address of our code where the thread's last jump lands, outside instrumented
 * copies. */
uintptr_t memory_flight_lands(void);
/* An exception on its way has come to the landing pad. */
void memory_flight_at(const uintptr_t kept[6], uintptr_t stack);
/* memory.c; memory_thrown calls it at the landing pad. */
void memory_lands(const uintptr_t kept[6], uintptr_t stack) RT_HIDDEN;
/* The hooks (memory_copies_hooks.c) call the next four, which act only if a window is still open.
 * kept: rbx, rbp, r12 to r15.
 * memory_enter_returning(): a mid-function entry is about to return through *place. Redirects that
 * return address to a mid-function entry, or else those of the callers further up. */
void memory_enter_returning(uintptr_t *place, const uintptr_t kept[6]);
/* A jump leads to COPY_TARGET: changes that to a mid-function entry, or, if there is none, makes
 * the callers continue in copies. */
void memory_enter_jump(uintptr_t *stack, const uintptr_t kept[6]);
/* No skeleton follows that jump. In memory.c. */
void memory_lost(uintptr_t *stack, const uintptr_t kept[6]);
/* A mid-function entry leaves for COPY_TARGET: its callers continue in copies. */
void memory_enter_leaving(uintptr_t *stack, const uintptr_t kept[6]);

/* memory_file_now() returns the file that the thread's copies now write into; NULL: none yet.
 * memory_has_no_room(): that file has no more room, and its segment has ended; ends the window's
 * recording. */
struct memory_file *memory_file_now(void);
void memory_has_no_room(void);

#endif
