/* SPDX-License-Identifier: BSD-3-Clause
 * What the fast and the long way of recording functions share. Of preload/probe*.c alone. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_FAST_H
#define REGTRACE_PRELOAD_PATCH_PROBE_FAST_H

#include "base/options.h"
#include "base/format/recorder.h"
#include "preload/libc/interpose.h"

/* Sanitizers' code is not made of general registers alone. */
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
    uintptr_t back;     /* that */
};

/* Calls of functions with exit_func alarms that have not returned on a thread. */
#define PROBE_EXITS_MAX 64u
struct probe_exit {
    uintptr_t function; /* address of its probe */
    uintptr_t stack;    /* where its return address is */
    uintptr_t back;     /* the return address */
    uint64_t
        left; /* offset of its only alarm's counter in struct ctl_thread; 0: takes the slow path */
};

/* Per-thread data in the thread's mapping (life.c). It is too large for static TLS, which takes its
 * room from the thread's stack. */
struct probe_room {
    uint64_t head, clock;       /* of the event of an unfinished enter or leave */
    struct probe_function amid; /* the function that enters or leaves */
    struct probe_function open[OPTION_FUNCTIONS_DEPTH_MAX];
    struct probe_exit exits[PROBE_EXITS_MAX];
};

/* The functions that a thread is in, innermost last. It covers the open window only.
 *
 * state: their number and, while the fast path records an enter or a leave, the place of its event
 * in the chunk. It is one word, because a handler that interrupts may enter and leave functions,
 * close windows, and never return (siglongjmp). Code that reads the list first finds out whether
 * that event has been recorded (probe_functions.c). */
struct probe_opens {
    uint64_t state;
    struct probe_room *room; /* NULL: no automaton, no window, both lists are empty */
    uint32_t windows; /* edges so far: what was open before one is not in the list after it */
    bool forked;      /* they are the parent's: a window that opens shows them */
    bool
        inside; /* our own code runs, which may come to probes: such executions are none of the program's */
};
extern __thread struct probe_opens probe_opens
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define PROBE_BACK ((uint64_t)0x200) /* settled: it was not there yet, and may come */
#define PROBE_AMID_ENTER ((uint64_t)0x400)
#define PROBE_AMID_LEAVE ((uint64_t)0x800)
#define PROBE_STATE_SLOT 16 /* from this bit on */
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
/* REGTRACE_FUNCTIONS_DEPTH. */
extern uint32_t probe_functions_limit RT_HIDDEN;

/* The lowest frame of those functions with exit_func alarms that are active on this thread; 0: there are none. Whoever comes to a probe
 * below it is inside of them all. */
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
/* ctl_shared_epoch(). */
extern const uint64_t *probe_exits_epoch RT_HIDDEN;

/* Where calls return to that have a jump there: a table of 0 or an address, looked up from its slot on. Never freed. */
struct probe_returns {
    uint32_t mask;
    uintptr_t at[];
};
extern _Atomic(const struct probe_returns *) probe_returns_now RT_HIDDEN;
/* And those of exit_func alarms. */
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

/* Places by their numbers. */
struct probe_numbered {
    uintptr_t at;
    uintptr_t back; /* of a function: the latest that has been found in the table above */
    uint64_t left;  /* as in struct probe_exit */
};
extern struct probe_numbered *probe_numbered RT_HIDDEN;
/* What a number has beside. */
#define PROBE_NUMBER_MASK 0x003fffffu
#define PROBE_NUMBER_CALL                                                                          \
    0x10000000u /* the place is a call: the thread has pushed what it returns to */
#define PROBE_NUMBER_ENDBR 0x20000000u   /* it is behind the endbr64 of what was asked for */
#define PROBE_NUMBER_CLAIMED 0x80000000u /* a count of its alarms has come to zero: the first's, */
#define PROBE_NUMBER_SECOND 0x40000000u  /* or the second's, and the first has been counted */

/* What a block has pushed as it calls: found where its frame ends. */
struct probe_frame {
    uint64_t number, flags, rax;
};

#if PROBE_HAS_FAST
/* They save what they change but for the flags and rax. */
#define PROBE_FAST __attribute__((no_caller_saved_registers))

/* Called by blocks alone. True: the long way. */
bool probe_fast_entered(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_returned(void) PROBE_FAST RT_HIDDEN;
/* Where there are exit_func alarms as well. */
bool probe_fast_entered_beside(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_returned_beside(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_exit_entered(void) PROBE_FAST RT_HIDDEN;
bool probe_fast_exit_returned(void) PROBE_FAST RT_HIDDEN;
#endif

#endif
