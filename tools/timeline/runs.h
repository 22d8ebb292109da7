/* SPDX-License-Identifier: BSD-3-Clause
 * Which thread runs on each processor, from what threads' channels show. Of tools/timeline alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_RUNS_H
#define REGTRACE_TOOLS_TIMELINE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct runs {
    struct runner {
        int32_t processor; /* -1: none */
        bool running;
        int64_t doing; /* its state in terms of MPI */
    } * threads;
    struct seat {
        uint32_t count, numbers; /* of threads that run there; all their numbers by exclusive or */
    } * processors;
    /* From now on. who: a thread's number + 1; 0 nobody; -N: N threads at once. doing: what that one thread does, else 0. */
    void (*tell)(void *context, uint32_t processor, int64_t who, int64_t doing);
    void *context;
};

/* False: no memory. */
bool runs_open(struct runs *r, uint32_t threads, uint32_t processors);
void runs_close(struct runs *r);
void runs_moves(struct runs *r, uint32_t thread, int32_t processor);
void runs_does(struct runs *r, uint32_t thread, int64_t doing);
void runs_is(struct runs *r, uint32_t thread, bool running);

#endif
