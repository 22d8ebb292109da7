/* SPDX-License-Identifier: BSD-3-Clause
 * Value profiling (REGTRACE_VALUES): at each sample the values that a plug-in asked for, of the instructions from there on. x86-64. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_H
#define REGTRACE_PRELOAD_VALUES_VALUES_H

#include "preload/internal.h"

/* What values_context() says beside the number of a general register. */
enum { VALUES_CONTEXT_NONE = -1, VALUES_CONTEXT_CALLER = -2, VALUES_CONTEXT_CALLERS = -3 };

/* Reads the options and starts the plug-in's program. -errno with the text where it is not to run; a plug-in that does not serve is
 * a warning, and the run goes on without. In the constructor. */
RT_MUST_CHECK int values_prepare(struct rt_error *e);
bool values_are_on(void);
/* When they are captured; its period is 0 where they are not. */
const struct pmu_sample_spec *values_spec(void);
int values_context(void);

/* Is this in a segment that an image has for code? Async-signal-safe. */
bool values_is_code(uintptr_t address);
/* An image was loaded. Not from handlers. */
void values_images_changed(void);

/* A sample of the calling thread, in its handler. True: it goes on behind the handler, by steps; sampling_values_end() says that it is
 * over. */
bool values_hit(struct preload_thread *pt, const void *context, uint32_t weight);
/* What our handler of any signal does first: true, it is dealt with. */
bool values_faulted(int signo, siginfo_t *info, void *context);
/* A SIGTRAP: true, it was ours. */
bool values_trapped(const siginfo_t *info, void *context);
/* What our handler of a sample must not be interrupted by, where there are such: all but faults. */
void values_block_others(sigset_t *mask);
/* Faults that are to reach us although the program handles none of them, and what handlers that follow must not block. */
bool values_is_fault(int signo);

void values_thread_end(struct preload_thread *pt);
/* In the child of fork. */
void values_forked(void);

#endif
