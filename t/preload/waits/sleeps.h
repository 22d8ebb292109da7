/* SPDX-License-Identifier: BSD-3-Clause
 * How often a thread of this process has gone to sleep: a signal that interrupts a call makes it
 * sleep once more. Source: proc(5). */
#ifndef REGTRACE_T_PRELOAD_WAITS_SLEEPS_H
#define REGTRACE_T_PRELOAD_WAITS_SLEEPS_H

#include <stdio.h>
#include <sys/resource.h>

/* Returns how often that thread has gone to sleep; -1 if it is not asleep now. */
static inline long sleeps_of(int tid)
{
    char path[64], line[256], state = 0;
    long n = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    while (fgets(line, sizeof line, f) != NULL) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &n);
    }
    fclose(f);
    return state == 'S' ? n : -1;
}

/* Returns how often the calling thread has gone to sleep. */
static inline long own_sleeps(void)
{
    struct rusage r;
    getrusage(RUSAGE_THREAD, &r);
    return r.ru_nvcsw;
}

#endif
