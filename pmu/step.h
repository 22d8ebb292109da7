/* SPDX-License-Identifier: BSD-3-Clause
 * Single-stepping of a thread by the trap flag, inside the thread itself: state of one thread. For pmu.h.
 *
 * Every instruction ends in a SIGTRAP whose handler counts it. Instructions of our own text, and of what it calls, are not
 * counted: `bound` is the stack pointer with which our text was entered; the call is over when the stack is above it and
 * the instruction pointer outside. Whoever calls the program from our text says so (pmu_program_begin()). */
#ifndef REGTRACE_PMU_STEP_H
#define REGTRACE_PMU_STEP_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_STEP_PAGES 8u

struct pmu_step {
    bool on;       /* this thread is stepped */
    bool counts;   /* the instruction under way is the program's */
    bool repeats;  /* it is a string instruction stepped in place */
    bool cloning;  /* it may make a child that shares this memory */
    bool blocked;  /* the program has blocked SIGTRAP, or thinks so */
    bool withheld; /* one that was sent meanwhile waits for it */
    bool program;  /* our text is about to call the program's */
    bool handling; /* a handler of ours runs, without the flag */
    bool
        entered; /* the program has called a function that begins with pmu_stop(): the flag is off already */
    uint8_t under_way; /* instructions that the next trap completes: 1, 2 with a system call */
    uint8_t length;    /* of the instruction under way, where that is of interest */
    uint32_t kernel_tid;
    uint64_t count, wake;            /* executed; interrupt at that count, PMU_NEVER */
    uintptr_t bound;                 /* 0: not inside our text */
    uintptr_t at;                    /* the instruction under way */
    uintptr_t slot;                  /* where it is executed in its place, 0: it is not */
    uintptr_t passed;                /* place here whose alarms have just fired, or 0 */
    uint64_t flags;                  /* before it, as it has them */
    uintptr_t pages[PMU_STEP_PAGES]; /* of code that can be read, plus 1 */
};

#endif
