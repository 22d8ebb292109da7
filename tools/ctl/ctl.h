/* SPDX-License-Identifier: BSD-3-Clause
 * Asks the writers of a running program: the client side of the protocol in writer/ctl_server.h.
 *
 * DIR/ctl/NAME.path has three lines: the host and the socket of a writer, and the number of ranks,
 * -1 if it is not known (older writers wrote two). Requests to writers on other nodes
 * go through the files NAME.request and NAME.answer-ID in that folder, which the nodes share. */
#ifndef REGTRACE_TOOLS_CTL_CTL_H
#define REGTRACE_TOOLS_CTL_CTL_H

#include "tools/tools.h"

#define CTL_NAME_ROOM 64
#define CTL_ANSWER_ROOM 1024

/* A writer, and its answer. */
struct ctl_target {
    char name[CTL_NAME_ROOM]; /* rank-NNNNN.PID */
    int32_t rank;
    int32_t size; /* ranks of the job; -1: unknown */
    uint32_t pid; /* of the traced process */
    char host[80], socket[PATH_MAX];
    bool by_file; /* the writer is on another node */
    bool asked;   /* a request is under way */
    int fd;       /* the request's connection; -1: none */
    unsigned got; /* bytes of the answer that have arrived */
    bool answered, ok;
    char answer[CTL_ANSWER_ROOM]; /* if there is no answer: the reason */
};

#define CTL_RANKS_ROOM 256

/* Lists in `list` the ranks among `ranks` that are none of the targets' and have no file in `dir`:
 * they have not begun to record, or are not traced. Sets *size to the number of ranks of the job; 0
 * if no target knows it: then no rank is listed. Returns how many there are. */
size_t ctl_absent_ranks(char list[CTL_RANKS_ROOM], int32_t *size, const char *dir,
                        const struct rank_list *ranks, const struct ctl_target *t, size_t count);

struct ctl_question {
    const char *verb;
    bool has_tid;
    uint64_t tid, wait_s;
};

bool ctl_verb_is_legal(const char *verb);

/* Asks all targets, and repeats the request to those that do not answer until wait_s seconds have
 * passed. Each repetition has the same id, so a process executes the request once. Sets `answered`,
 * `ok` and `answer` of each target. */
void ctl_ask(const char *dir, const struct ctl_question *q, struct ctl_target *t, size_t count);

#endif
