/* SPDX-License-Identifier: BSD-3-Clause
 * Processes that replay a recording each: regtrace-skel, with skeletons that are compiled before. */
#ifndef REGTRACE_TOOLS_SKEL_PLAYER_H
#define REGTRACE_TOOLS_SKEL_PLAYER_H

#include "base/accesses.h"
#include "tools/skel.h"

#include <sys/types.h>

enum { SKEL_PIPE = -1 };

/* How one is started. */
struct skel_play {
    struct skel_folder *folder;
    const struct skel_recording *recording;
    const char *format;
    int out; /* descriptor that it writes to, SKEL_PIPE: a pipe to us */
};

struct skel_player {
    pid_t pid;
    int out;     /* that pipe, to read from; -1: it has none */
    int control; /* a pipe whose other end closes as it ends */
};

/* False, and a message: it cannot be compiled, or no process be made. */
bool skel_player_start(struct skel_player *p, const struct skel_play *how);
/* It has ended, or ends by itself. enum accesses_exit; what is wrong with it otherwise has been said. */
int skel_player_wait(struct skel_player *p, const struct skel_recording *r);
/* It is not wanted any more. */
void skel_player_stop(struct skel_player *p);

#endif
