/* SPDX-License-Identifier: BSD-3-Clause
 * Reads, in a thread, the records of accesses (base/format/accesses.h) that a replaying process
 * writes to a pipe. */
#ifndef REGTRACE_TOOLS_MEMORY_SKEL_RECORDS_H
#define REGTRACE_TOOLS_MEMORY_SKEL_RECORDS_H

#include "tools/memory/replay_process.h"

#include <pthread.h>

/* Callbacks of the caller, called in that thread. Each prints a message and returns false on
 * failure, which ends the thread. */
struct skel_records_use {
    bool (*begin)(void *context, const struct accesses_whose *whose); /* a segment begins */
    bool (*put)(void *context, const struct accesses_record *list,
                size_t count);                                    /* accesses of that segment */
    bool (*end)(void *context, uint64_t functions, uint32_t how); /* from its end record */
    void (*rest)(void *context); /* the pipe has ended; may be NULL */
};

struct skel_records {
    const struct skel_records_use *use;
    void *context;
    const struct skel_recording *recording;
    int in;
    pthread_t thread;
    uint64_t rows; /* accesses of the present segment so far */
    bool started, inside, failed;
};

/* Starts the thread for a process that has just been started, and takes over its pipe, p->out.
 * Returns false, and prints a message, if there is no thread. */
bool skel_records_start(struct skel_records *r, struct skel_player *p);
/* Joins the thread; call it when the process has ended or is about to. Returns false if the thread
 * was not started, has failed (and printed a message), or the last segment has no end record. */
bool skel_records_wait(struct skel_records *r);

#endif
