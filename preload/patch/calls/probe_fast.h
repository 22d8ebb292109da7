/* SPDX-License-Identifier: BSD-3-Clause
 * State that the fast path and the slow path of recording functions share. Used by preload/patch/
 * only. */
#ifndef REGTRACE_PRELOAD_PATCH_CALLS_PROBE_FAST_H
#define REGTRACE_PRELOAD_PATCH_CALLS_PROBE_FAST_H

#include "base/options.h"
#include "base/format/recorder.h"
#include "preload/libc/interpose.h"

/* Code that is compiled with sanitizers needs more than general registers. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PROBE_HAS_FAST 1
#else
#define PROBE_HAS_FAST 0
#endif

#define PROBE_RED_ZONE 128u

/* A function that has been entered. */
struct probe_function {
    uintptr_t function; /* its first instruction */
    uintptr_t stack;    /* where its return address is */
    uintptr_t back;     /* the return address; if a leave is pending, the call path */
};

/* A call of a function with exit_func alarms that has not returned. A thread has PROBE_EXITS_MAX at
 * most. */
#define PROBE_EXITS_MAX 64u
struct probe_exit {
    uintptr_t function; /* address of its probe */
    uintptr_t stack;    /* where its return address is */
    uintptr_t back;     /* the return address */
    /* offset of its only alarm's counter in struct ctl_thread; 0: takes the slow path */
    uint64_t left;
};

/* Per-thread data in the thread's mapping (attach.c). It is too large for static TLS, which takes
 * its room from the thread's stack. */
struct probe_room {
    uint64_t head, clock;          /* head and clock of an unfinished event */
    struct probe_function pending; /* the function that enters or leaves */
    struct probe_function open[OPTION_FUNCTIONS_DEPTH_MAX];
    uint32_t paths[OPTION_FUNCTIONS_DEPTH_MAX]; /* call paths of those; 0: unknown */
    struct probe_exit exits[PROBE_EXITS_MAX];
};

/* The functions that a thread is in, innermost last, in the open window only.
 *
 * state: their number and, while the fast path records an enter or a leave, the slot of its event
 * in the chunk. It is one word, because a handler that interrupts may enter and leave functions,
 * close windows, and never return (siglongjmp). Code that reads the list first finds out whether
 * that event has been recorded (probe_functions.c). */
struct probe_opens {
    uint64_t state;
    struct probe_room *room; /* NULL: no automaton and no window, so both lists are empty */
    /* edges so far. Functions that were open before an edge are not in the list after it. */
    uint32_t windows;
    bool forked; /* the list is the parent's: the next window begins with it */
    /* our own code runs: if it executes probes, these executions are not the program's */
    bool inside;
};
extern __thread struct probe_opens probe_opens
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A handler found that the pending event is not recorded. The interrupted fast path may still
 * record it. */
#define PROBE_BACK ((uint64_t)0x200)
/* The fast path is recording an enter (a leave). */
#define PROBE_AMID_ENTER ((uint64_t)0x400)
#define PROBE_AMID_LEAVE ((uint64_t)0x800)
#define PROBE_STATE_SLOT 16 /* first bit of the slot's address */
_Static_assert(OPTION_FUNCTIONS_DEPTH_MAX < PROBE_BACK, "a depth is below the flags");
static inline uint32_t probe_opens_depth(uint64_t state)
{
    return (uint32_t)(state & (PROBE_BACK - 1));
}
/* Atomic with respect to this thread's own handlers. */
static inline bool probe_swap(uint64_t *word, uint64_t from, uint64_t to)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    bool same;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@cce"(same), "+m"(*word), "+a"(from)
                     : "r"(to)
                     : "memory");
    return same;
#else
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}
static inline uint64_t probe_look(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
/* The value of REGTRACE_FUNCTIONS_DEPTH. */
extern uint32_t probe_functions_limit RT_HIDDEN;

/* The lowest frame of the active functions with exit_func alarms on this thread; 0: there are none.
 * A thread that comes to a probe below it is inside all of them. */
extern __thread uintptr_t probe_exits_lowest
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Low half: the number of entries in probe_room.exits, innermost last. Upper half: the number of
 * changes. A handler may change it at any instruction. */
extern __thread uint64_t probe_exits_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline uint32_t probe_exits_count(uint64_t state)
{
    return (uint32_t)state;
}
static inline uint64_t probe_exits_changed(uint64_t before, uint32_t count)
{
    return ((before >> 32) + 1) << 32 | count;
}
/* The result of ctl_shared_epoch(). */
extern const uint64_t *probe_exits_epoch RT_HIDDEN;

/* A hash table (open addressing) of those return sites of recorded functions that have a jump. A
 * slot holds an address or 0; probe_return_slot() returns the first slot to look at. Never
 * freed. */
struct probe_returns {
    uint32_t mask;
    uintptr_t at[];
};
extern _Atomic(const struct probe_returns *) probe_returns_now RT_HIDDEN;
/* The same for functions with exit_func alarms. */
extern _Atomic(const struct probe_returns *) probe_exits_now RT_HIDDEN;

static inline uint32_t probe_return_slot(const struct probe_returns *r, uintptr_t at)
{
    return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & r->mask;
}

static inline bool probe_has_return(const struct probe_returns *r, uintptr_t at)
{
    for (uint32_t i = r != NULL ? probe_return_slot(r, at) : 0; r != NULL; i = (i + 1) & r->mask)
        if (r->at[i] == at || r->at[i] == 0)
            return r->at[i] == at;
    return false;
}

/* Data of sites with jumps, by the number in their code. */
struct probe_numbered {
    uintptr_t at;
    /* for a function's entry: the return address last found in the table above */
    uintptr_t back;
    uint64_t left; /* as in struct probe_exit */
};
extern struct probe_numbered *probe_numbered RT_HIDDEN;
/* A block pushes the number of its site and these flags. */
#define PROBE_NUMBER_MASK 0x003fffffu
#define PROBE_NUMBER_CALL                                                                          \
    0x10000000u /* the site is a call: the thread has pushed the return address */
#define PROBE_NUMBER_ENDBR 0x20000000u /* the site is after the endbr64 of the requested address */
/* CLAIMED: an alarm's count has come to zero. With SECOND it is the site's second alarm, and the
 * first has been counted; otherwise it is the first. */
#define PROBE_NUMBER_CLAIMED 0x80000000u
#define PROBE_NUMBER_SECOND 0x40000000u

/* The words that a block has pushed when it calls a function. They lie where its frame ends. */
struct probe_frame {
    uint64_t number, flags, rax;
};

#if PROBE_HAS_FAST
/* These functions save all that they change except the flags and rax. */
#define PROBE_FAST __attribute__((no_caller_saved_registers))

/* Called by blocks only. They return true if the slow path must follow. */
bool probe_fast_entered(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_returned(void) PROBE_FAST RT_HIDDEN;
/* The same if there are exit_func alarms too. */
bool probe_fast_entered_beside(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_returned_beside(void) PROBE_FAST RT_HIDDEN;
/* For alarms that blocks count, at functions that are recorded. */
bool probe_fast_alarms_beside(void) PROBE_FAST RT_HIDDEN;
/* For functions with exit_func alarms. */
bool probe_fast_exit_entered(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_exit_returned(void) PROBE_FAST RT_HIDDEN;
/* The same if functions are recorded too; within windows the slow path always follows. */
bool probe_fast_exit_entered_beside(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_exit_returned_beside(void) PROBE_FAST RT_HIDDEN;
#endif

#endif
