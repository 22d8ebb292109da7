/* SPDX-License-Identifier: BSD-3-Clause
 * Value profiling (REGTRACE_VALUES): at each sample, captures the values that a plug-in asked for,
 * of the instructions from there on. x86-64. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_H
#define REGTRACE_PRELOAD_VALUES_VALUES_H

#include "preload/thread.h"

/* Results of values_context() that are no number of a general register. */
enum { VALUES_CONTEXT_NONE = -1, VALUES_CONTEXT_CALLER = -2, VALUES_CONTEXT_CALLERS = -3 };

/* Values are captured: SIGTRAP and faults come to us first. The constructor sets it. */
extern bool values_are_captured;

/* values_prepare() reads the options, values_start() starts the plug-in's program. Called in the
 * constructor. They return 0, or -errno with the text if the run must not start: a wrong option, or
 * an unusable plug-in, except in a child of a traced program. After any other failure
 * values_start() warns, and the run goes on without values. */
RT_MUST_CHECK int values_prepare(struct rt_error *e);
RT_MUST_CHECK int values_start(struct rt_error *e);
/* Returns true for SIGTRAP and for faults. They must reach us even if the program handles none of
 * them. */
bool values_wants_signal(int signo);
bool values_are_on(void);
/* When values are captured; the period is 0 if they are not. */
const struct pmu_sample_spec *values_spec(void);
int values_context(void);

/* Returns true if the address is in an executable segment of an image. Async-signal-safe. */
bool values_is_code(uintptr_t address);
/* Call it after an image was loaded; not from signal handlers. */
void values_images_changed(void);

/* Takes a sample of the calling thread, in its signal handler. Returns true if the sample goes on
 * after the handler, by single steps; sampling_values_end() then says that it is over. */
bool values_hit(struct preload_thread *pt, const void *context, uint32_t weight);
/* Return true if they have dealt with the signal. */
bool values_faulted(int signo, siginfo_t *info, void *context);
bool values_trapped(int signo, siginfo_t *info, void *context);
/* If values are captured, sets the mask of signals that must not interrupt our handler of a sample:
 * all but faults. */
void values_block_others(sigset_t *mask);

void values_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* Call it in the child of fork. */
void values_forked(void);

#endif
