/* SPDX-License-Identifier: BSD-3-Clause
 * Records of accesses that a process which replays a recording writes to a pipe (base/format/accesses.h), read by a thread of its own. */
#ifndef REGTRACE_TOOLS_MEMORY_SKEL_RECORDS_H
#define REGTRACE_TOOLS_MEMORY_SKEL_RECORDS_H

#include "tools/memory/skel_player.h"

#include <pthread.h>

/* What is done with them, in that thread; false ends it, when it has been said why. */
struct skel_records_use {
    bool (*begin)(void *context, const struct accesses_whose *whose); /* a stretch */
    bool (*put)(void *context, const struct accesses_record *list,
                size_t count);                                    /* accesses of it */
    bool (*end)(void *context, uint64_t functions, uint32_t how); /* as its last record has them */
    void (*rest)(void *context); /* no more come now; NULL: nothing is to be done */
};

struct skel_records {
    const struct skel_records_use *use;
    void *context;
    const struct skel_recording *recording;
    int in;
    pthread_t thread;
    uint64_t rows; /* of the stretch that has begun */
    bool started, inside, failed;
};

/* Of a process that has just been started, whose pipe it takes. False, and a message: there is no thread. */
bool skel_records_start(struct skel_records *r, struct skel_player *p);
/* The process has ended, or is about to. False: it was not started, has failed (as has been said), or the last stretch has no end. */
bool skel_records_wait(struct skel_records *r);

#endif
