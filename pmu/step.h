/* SPDX-License-Identifier: BSD-3-Clause
 * State of one thread that single-steps itself by the trap flag. For pmu.h.
 *
 * Every instruction ends in a SIGTRAP, whose handler counts it. Instructions of regtrace's own
 * text, and of functions that it calls, do not count. `bound` is the stack pointer at the entry to
 * our text; the call is over when the stack pointer is above `bound` and the instruction pointer is
 * outside our text. Code of ours that calls the program uses pmu_program_begin(). */
#ifndef REGTRACE_PMU_STEP_H
#define REGTRACE_PMU_STEP_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_STEP_PAGES 8u

struct pmu_step {
    bool on;       /* this thread is stepped */
    bool counts;   /* the instruction under way is the program's */
    bool repeats;  /* it is a string instruction stepped in place */
    bool cloning;  /* it may create a child that shares this memory */
    bool blocked;  /* the program has blocked SIGTRAP, or believes so */
    bool withheld; /* a SIGTRAP sent while blocked waits for the program */
    bool program;  /* our text is about to call the program */
    bool handling; /* a handler of ours runs, without the trap flag */
    /* The program has called a function that begins with pmu_stop(); the trap flag is off
     * already. */
    bool entered;
    uint8_t under_way; /* instructions that the next trap completes: 1; 2 with a system call */
    uint8_t length;    /* length of the instruction under way, if needed */
    uint32_t kernel_tid;
    /* executed instructions; count at which to interrupt, or PMU_NEVER */
    uint64_t count, wake;
    uintptr_t bound;                 /* 0: not inside our text */
    uintptr_t at;                    /* address of the instruction under way */
    uintptr_t slot;                  /* slot where it executes instead; 0: in place */
    uintptr_t passed;                /* place here whose alarms have just fired, or 0 */
    uint64_t flags;                  /* RFLAGS before the instruction under way */
    uintptr_t pages[PMU_STEP_PAGES]; /* pages of readable code, plus 1 */
};

#endif
