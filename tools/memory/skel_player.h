/* SPDX-License-Identifier: BSD-3-Clause
 * Processes that replay a recording each: regtrace-skel, with skeletons that are compiled before. */
#ifndef REGTRACE_TOOLS_MEMORY_SKEL_PLAYER_H
#define REGTRACE_TOOLS_MEMORY_SKEL_PLAYER_H

#include "base/format/accesses.h"
#include "tools/memory/skel.h"

#include <sys/types.h>

enum { SKEL_PIPE = -1 };

/* How one is started. */
struct skel_play {
    struct skel_folder *folder;
    const struct skel_recording *recording;
    const char *format;
    int out; /* descriptor that it writes to, SKEL_PIPE: a pipe to us */
    bool follows;
    uint64_t from;    /* if it follows: isa/memory/replay/recording.h has it */
    const char *lock; /* ... and writes where others do; NULL: it does not */
};

struct skel_player {
    pid_t pid;     /* -1: none */
    int out;       /* that pipe, to read from; -1: it has none */
    int control;   /* a pipe whose other end closes as it ends; what it asks, if it follows */
    int answers;   /* goes to it; -1: it does not follow, or has been told that the run has ended */
    uint64_t from; /* if it follows: where the next one goes on */
    char asked[64];
    size_t asked_bytes;
};

/* False, and a message: it cannot be compiled, or no process be made. */
bool skel_player_start(struct skel_player *p, const struct skel_play *how);
/* It follows, and there is something in `control`. False: it has ended. */
bool skel_player_hear(struct skel_player *p, struct skel_folder *f, struct skel_recording *r);
/* It follows: nobody writes the recording any more. */
void skel_player_is_over(struct skel_player *p);
/* It has ended, or ends by itself. enum accesses_exit, where ACCESSES_NOTHING is told by the recording instead; what is wrong with it otherwise has
 * been said. */
int skel_player_wait(struct skel_player *p, struct skel_recording *r);
/* It is not wanted any more. */
void skel_player_stop(struct skel_player *p);

/* --- several: skel_each.c, skel_follow.c --------------------------------------------------------------------------------- */

/* Who they are for, by their numbers in the folder's list. */
struct skel_use {
    const char *format;
    /* Where it will write to, as in struct skel_play; -2, and a message: nowhere. */
    int (*opens)(void *context, size_t i);
    /* It has been started. False, and a message: all end. */
    bool (*begins)(void *context, size_t i, struct skel_player *p);
    /* It has ended so, and said why. Returns what is to be taken for that. */
    int (*ended)(void *context, size_t i, int status);
    void *context;
};

/* Each recording of the folder once, as many at a time as is wished for. enum accesses_exit: ACCESSES_FAILED if any has failed. The first that cannot be
 * written, or is unread, ends all. */
int skel_each(struct skel_folder *f, const struct skel_use *u);
/* Recordings of a run as they grow and come, until its processes have ended. Likewise. */
int skel_follow(struct skel_folder *f, const struct skel_use *u);

#endif
