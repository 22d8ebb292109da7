/* SPDX-License-Identifier: BSD-3-Clause
 * Processes that each replay one recording: regtrace-isa, with skeletons compiled before. */
#ifndef REGTRACE_TOOLS_MEMORY_REPLAY_PROCESS_H
#define REGTRACE_TOOLS_MEMORY_REPLAY_PROCESS_H

#include "base/format/accesses.h"
#include "tools/memory/skel_command.h"

#include <sys/types.h>

enum { SKEL_PIPE = -1 };

/* How to start a process. */
struct skel_play {
    struct skel_folder *folder;
    const struct skel_recording *recording;
    const char *format;
    int out; /* descriptor for its output; SKEL_PIPE: a pipe to us */
    bool follows;
    /* If it follows: place of the first segment (isa/memory/replay/replay_recording.h). */
    uint64_t from;
    /* If it follows and shares `out` with others: path of a lock file; NULL: it does not share
     * it. */
    const char *lock;
};

struct skel_player {
    pid_t pid; /* -1: none */
    int out;   /* the pipe to read its output from; -1: none */
    /* Read end of a pipe that the process closes when it ends; if it follows, its questions come
     * here. */
    int control;
    /* Pipe for our answers. -1: it does not follow, or we have told it that the run has ended. */
    int answers;
    uint64_t from; /* if it follows: place of the next segment */
    char asked[64];
    size_t asked_bytes;
};

/* Starts a process. Returns false, and prints a message, if a skeleton cannot be compiled or no
 * process can be created. */
bool skel_player_start(struct skel_player *p, const struct skel_play *how);
/* For a process that follows, when `control` is readable: answers its questions. Returns false if
 * it has ended. */
bool skel_player_hear(struct skel_player *p, struct skel_folder *f, struct skel_recording *r);
/* Tells a process that follows that nothing more will be written to the recording. */
void skel_player_is_over(struct skel_player *p);
/* Waits for a process that has ended or ends by itself. Returns enum accesses_exit; messages about
 * a failure have been printed. Instead of ACCESSES_NOTHING, returns ACCESSES_DONE and leaves
 * r->had_some false. */
int skel_player_wait(struct skel_player *p, struct skel_recording *r);
/* Terminates the process, if there is one. */
void skel_player_stop(struct skel_player *p);

/* --- several recordings: skel_each.c, skel_follow.c ------------------------------------------- */

/* Callbacks of the caller. i: index of the recording in the folder's list. */
struct skel_use {
    const char *format;
    /* Returns the descriptor for its output, as in struct skel_play; or prints a message and
     * returns -2. */
    int (*opens)(void *context, size_t i);
    /* Called when a process has started. Returns false, and prints a message, to end all. */
    bool (*begins)(void *context, size_t i, struct skel_player *p);
    /* Called when a process has ended with that status; messages have been printed. Returns the
     * status to use instead. */
    int (*ended)(void *context, size_t i, int status);
    void *context;
};

/* Replays each recording of the folder once, as many at a time as -jobs says. Returns enum
 * accesses_exit: ACCESSES_FAILED if any recording failed. ACCESSES_UNWRITTEN or ACCESSES_UNREAD of
 * one ends all. */
int skel_each(struct skel_folder *f, const struct skel_use *u);
/* Replays the recordings of a run as they appear and grow, until its processes have ended. Returns
 * the same as skel_each(). */
int skel_follow(struct skel_folder *f, const struct skel_use *u);

#endif
