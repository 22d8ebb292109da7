/* SPDX-License-Identifier: BSD-3-Clause
 * Derives which thread runs on each processor from what threads' channels show. For tools/timeline
 * only. */
#ifndef REGTRACE_TOOLS_TIMELINE_RUNNING_THREADS_H
#define REGTRACE_TOOLS_TIMELINE_RUNNING_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct runs {
    struct runner {
        int32_t processor; /* -1: none */
        bool running;
        int64_t doing; /* the value of its channel mpi.activity */
    } * threads;
    struct seat {
        /* of the threads that run there: their count, and all their numbers by exclusive or */
        uint32_t count, numbers;
    } * processors;
    /* Reports the state of a processor from now on. who: a thread's number + 1; 0: nobody; -N: N
     * threads at once. doing: `doing` of that one thread, otherwise 0. */
    void (*tell)(void *context, uint32_t processor, int64_t who, int64_t doing);
    void *context;
};

/* Returns false if there is no memory; call runs_close() in both cases. */
bool runs_open(struct runs *r, uint32_t threads, uint32_t processors);
void runs_close(struct runs *r);
void runs_moves(struct runs *r, uint32_t thread, int32_t processor);
void runs_does(struct runs *r, uint32_t thread, int64_t doing);
void runs_is(struct runs *r, uint32_t thread, bool running);

#endif
