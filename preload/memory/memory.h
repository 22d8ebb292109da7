/* SPDX-License-Identifier: BSD-3-Clause
 * Memory traces (REGTRACE_MEMORY): in windows the program's functions run as clones that record (probe_clones.h); what they record goes
 * into a file of the thread's (base/format/memory.h). x86-64. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_H

#include "preload/internal.h"

/* A window of the calling thread has opened, closes. Signals are blocked, or it is a handler. */
void memory_opened(struct recorder_thread *t);
void memory_closes(struct recorder_thread *t);
void memory_thread_end(void);
/* Images have come, which the calling thread may enter in its window. */
void memory_images_came(void);
/* Around a child of vfork, which runs functions themselves: it may leave them by exec. */
void memory_vfork(bool begins);
/* In the child of fork. */
void memory_forked(void);

/* Where the program was interrupted, as our handlers' contexts have it: windows that open and close meanwhile go by it. */
struct memory_interrupted {
    uintptr_t stack, at; /* 0: not known; the calling function's frame will do */
    bool entered;        /* a function just now: on top of the stack lies where it returns to */
    void *context;       /* which the thread goes on with; NULL: not known */
};
struct memory_interrupted memory_interrupt(uintptr_t stack, uintptr_t at);
struct memory_interrupted memory_enter(uintptr_t stack, uintptr_t at);
/* The program has called one of this library's functions, where the frame pointer is kept: `frame` is its frame. */
struct memory_interrupted memory_call(void *frame);
struct memory_interrupted memory_interrupt_by(void *context);
/* It is about to go on where this context has it, in no handler. */
struct memory_interrupted memory_stand(void *context);
void memory_interrupt_over(struct memory_interrupted before);
bool memory_stack_is_known(void);

/* What stands there is meant, and has no clone: it is missing, and the recording says so. Clones are between functions, as tokens are. */
void memory_missing(uintptr_t at);
/* Likewise, where a clone may have left: whoever called is entered. */
void memory_misses(uintptr_t at);
/* What the handler of SIGTRAP does first: true, it was a step of ours. */
bool memory_stepped(const siginfo_t *info, void *context);
/* What our handler of any signal does first: true, it is dealt with. */
bool memory_faulted(int signo, const siginfo_t *info, void *context);
/* Faults that are to reach us although the program handles or blocks them. */
bool memory_is_fault(int signo);
/* A SIGSEGV was sent while the program has it blocked, as it thinks: it is kept until it has not. */
void memory_withhold(void);
void memory_unblocked(void);

/* A longjmp on its way: it leads to memory_landing (memory_frames.c), and that to where this says then. Or an exception: it leads to
 * memory_thrown, where the registers and the stack pointer are those of the landing pad, and that behind memory_lands to memory_landing. */
struct memory_flight {
    uintptr_t target;
    uintptr_t under_way; /* 0: it is not */
    uintptr_t pad;       /* of an exception: where the function itself would go on; 0: a longjmp */
    bool from_clone;     /* setjmp was called there */
    bool is_thrown;      /* it has not come to memory_thrown: kept and stack are not known yet */
    bool opened;         /* a window has, meanwhile */
    uintptr_t kept[6], stack;
};

/* How far a thread had recorded when an unwinder first met a clone, and whether that was amid its instructions; 0: none has. */
struct memory_unwound {
    uint64_t at;
    bool amid;
};

/* Kept while a handler of the program runs. In a window it records into a file of its own; without
 * one it runs no instrumented copies. */
struct memory_handler {
    bool taken;
    uintptr_t frame; /* of our function that calls the handler */
    struct memory_handler *outer;
    uintptr_t stack, at,
        shown; /* where it was interrupted: stack pointer; address, and as the program sees it */
    uint64_t enter, spill, spill_2, target;
    struct memory_unwound unwound;
    bool has_file;     /* of its own */
    uint32_t signal;   /* of which it says that it is for that ... */
    uint64_t outer_at; /* ... and how far what it has interrupted had come */
    struct memory_flight flight;
    struct memory_interrupted was;
};
/* Returns a record of the thread's, not of its stack, which may be small; NULL: nothing to restore.
 * frame: of the caller, who passes the record to memory_handler_ends(). */
struct memory_handler *memory_handler_begins(uintptr_t frame, siginfo_t *info, void *context);
void memory_handler_ends(struct memory_handler *h, void *context);

/* The thread leaves all frames between these stack pointers, without coming back to them. */
void memory_jumped(uintptr_t from, uintptr_t to);
/* A longjmp calls memory_jump_begins() before memory_jumped(), and memory_jumps_on() after it. `at`
 * is the target of the jump, after a call of setjmp; the registers there are kept (rbx, rbp, r12 to
 * r15) and the stack pointer. Windows may open and close between the two. memory_jump_begins()
 * returns false without memory to redirect the jump. memory_jumps_on() returns the address where
 * the jump must go instead; 0: to its own target. */
bool memory_jump_begins(uintptr_t at, const uintptr_t kept[6], uintptr_t stack);
uintptr_t memory_jumps_on(void);
/* An unwinder is about to go on at that landing pad. Where it is to lead instead. */
uintptr_t memory_throw(uintptr_t pad);
/* An exception has been caught by whoever comes back there, from the frames between these stack pointers. */
void memory_caught(uintptr_t back, uintptr_t from, uintptr_t to);
/* An unwinder has come to that address. */
void memory_unwound(uintptr_t at);
/* A C++ exception is thrown; it is caught, or nobody catches it. In between, edges of windows that
 * our signals bring are postponed: edges change return addresses, and the unwinder, which walks the
 * frames twice, must find the same ones. */
void memory_exception_begins(const void *exception);
void memory_exception_ends(void);
/* Does this signal wait until then? */
bool memory_postpones(const siginfo_t *info);

#endif
