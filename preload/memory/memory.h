/* SPDX-License-Identifier: BSD-3-Clause
 * Memory traces (REGTRACE_MEMORY): in windows the program's functions run as instrumented copies
 * (memory_copies.h), which record into a file of the thread (base/format/memory_recording.h).
 * x86-64. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_H

#include "preload/thread.h"

/* Functions have instrumented copies, or may get them: SIGSEGV comes to us first. The constructor
 * sets it. */
extern bool memory_is_traced;

/* A window of the calling thread has opened, or is about to close. Call these with signals blocked,
 * or in a signal handler. */
void memory_opened(struct recorder_thread *t, struct preload_thread *pt);
void memory_closes(struct recorder_thread *t, struct preload_thread *pt);
void memory_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* Images were loaded whose functions the calling thread may enter in its window. */
void memory_images_came(void);
/* Call it around a child of vfork. The child runs functions itself, and may leave them by exec. */
void memory_vfork(bool begins);
/* Call it in the child of fork. */
void memory_forked(void);

/* Where the program has left its own code for ours. Windows that open and close meanwhile use it.
 * Each function that sets it returns the position before, for memory_position_restore(). */
struct memory_position {
    uintptr_t stack, at; /* 0: unknown; the calling function's frame is used */
    /* The program has just entered a function: its return address is on top of the stack. */
    bool entered;
    void *context; /* context with which the thread continues; NULL: unknown */
};
struct memory_position memory_position_set(uintptr_t stack, uintptr_t at);
struct memory_position memory_position_at_entry(uintptr_t stack, uintptr_t at);
/* The program has called a function of this library that keeps the frame pointer; `frame` is the
 * function's frame. */
struct memory_position memory_position_of_call(void *frame);
/* A signal handler of ours has this context. */
struct memory_position memory_position_of_handler(void *context);
/* The thread is about to continue with this context, and is in no signal handler. */
struct memory_position memory_position_of_context(void *context);
void memory_position_restore(struct memory_position before);
bool memory_stack_is_known(void);

/* Records that the selected code from `at` on has no copy, so that its accesses are missing. The
 * thread's copies must be between functions, where tokens may stand. */
void memory_missing(uintptr_t at);
/* For a place without a copy that a thread reaches outside copies: calls memory_missing(), then
 * redirects the return addresses of the callers to their mid-function entries. */
void memory_misses(uintptr_t at);
/* Returns true if the trap was a step of ours. */
bool memory_stepped(int signo, siginfo_t *info, void *context);
/* Returns true if it has dealt with the fault of a copy. */
bool memory_faulted(int signo, siginfo_t *info, void *context);
/* Returns true for faults that must reach us even if the program handles or blocks them. */
bool memory_is_fault(int signo);

/* A longjmp or an exception between its start and its landing. A longjmp goes to memory_landing
 * (memory_frames.c), which jumps to `target`. An exception goes to memory_thrown, with the
 * registers and the stack pointer of the landing pad; memory_thrown calls memory_lands() and jumps
 * to memory_landing. Windows that open or close may change `target` until then. */
struct memory_flight {
    uintptr_t target;
    uintptr_t under_way; /* 0: it is not under way */
    /* Exception: where the function itself would continue; 0: a longjmp. */
    uintptr_t pad;
    bool from_copy; /* setjmp was called in an instrumented copy */
    /* an exception that has not reached memory_thrown yet: kept and stack are unknown */
    bool is_thrown;
    bool opened; /* a window has opened in the meantime */
    uintptr_t kept[6], stack;
};

/* How far a thread had recorded when an unwinder first met an instrumented copy, and whether that
 * was in the middle of the copy's instructions; 0: no unwinder has met one. */
struct memory_unwound {
    uint64_t at;
    bool within;
};

/* State while a handler of the program runs. In a window the handler records into a file for
 * handlers; without one it runs no instrumented copies. */
struct memory_handler {
    bool taken;
    uintptr_t frame; /* frame of our function that calls the handler */
    struct memory_handler *outer;
    /* Where the thread was interrupted: the stack pointer, the address, and the address that the
     * program sees. */
    uintptr_t stack, at, shown;
    uint64_t enter, spill, spill_2, target;
    struct memory_unwound unwound;
    bool has_file;          /* the handler records into another file */
    bool stepping_below;    /* a handler of ours, which it interrupts, has set the trap flag for the
                            code to which it returns */
    uint64_t delayed_below; /* signals, as bits, that wait there for steps (memory_delays()) */
    /* For that file: the signal, and how far the interrupted code had recorded. */
    uint32_t signal;
    uint64_t outer_at;
    struct memory_flight flight;
    struct memory_position was;
};
/* Returns a record in the thread's state, not on its stack, which may be small; NULL: nothing to
 * restore. `frame` is the frame of the caller, which passes the record to memory_handler_ends(). */
struct memory_handler *memory_handler_begins(uintptr_t frame, siginfo_t *info, void *context);
void memory_handler_ends(struct memory_handler *h, void *context);

/* Returns true if the program's handler of this signal, whose action has these flags, runs a little
 * later: the thread is within a copy's code for one instruction. Not for stepped threads, whose
 * SIGTRAPs counting_trapped() claims. */
bool memory_delays(int signo, int flags, siginfo_t *info, void *context);

/* The thread leaves all frames between these stack pointers for good. */
void memory_frames_left(uintptr_t from, uintptr_t to);
/* A longjmp calls memory_longjmp_begins() before memory_frames_left(), and memory_longjmp_target()
 * after it. `at` is the target of the jump, after a call of setjmp; `kept` are the registers that
 * functions preserve (rbx, rbp, r12 to r15) and `stack` is the stack pointer there. Windows may
 * open and close between the two calls. memory_longjmp_begins() returns false if there is no memory
 * to redirect the jump. memory_longjmp_target() returns the address to which the jump must go
 * instead, or 0: to its own target. */
bool memory_longjmp_begins(uintptr_t at, const uintptr_t kept[6], uintptr_t stack);
uintptr_t memory_longjmp_target(void);
/* An unwinder is about to continue at the landing pad `pad`. Returns the address to continue at
 * instead. */
uintptr_t memory_throw(uintptr_t pad);
/* The code that `back` returns to has caught an exception from the frames between these stack
 * pointers. */
void memory_caught(uintptr_t back, uintptr_t from, uintptr_t to);
/* An unwinder has come to that address. */
void memory_unwound(uintptr_t at);
/* Call them when a C++ exception is thrown, and when it is caught or nobody catches it. In between,
 * edges of windows that our signals bring are postponed: edges change return addresses, and the
 * unwinder, which walks the frames twice, must find the same ones. */
void memory_exception_begins(const void *exception);
void memory_exception_ends(void);
/* Returns true if this signal now waits until then. */
bool memory_postpones(const siginfo_t *info);

#endif
