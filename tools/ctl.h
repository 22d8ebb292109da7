/* SPDX-License-Identifier: BSD-3-Clause
 * Asking the writers of a running program: the client's side of the protocol in writer/control.h.
 *
 * DIR/ctl/NAME.path names host and socket of a writer. Writers on other nodes are reached by DIR/ctl/NAME.request and
 * NAME.answer-ID in the shared folder. */
#ifndef REGTRACE_TOOLS_CTL_H
#define REGTRACE_TOOLS_CTL_H

#include "tools/tools.h"

#define CTL_NAME_ROOM 64
#define CTL_ANSWER_ROOM 1024

/* One writer, and what it says. */
struct ctl_target {
    char name[CTL_NAME_ROOM]; /* rank-NNNNN.PID */
    int32_t rank;
    uint32_t pid; /* of the traced process */
    char host[80], socket[PATH_MAX];
    bool by_file; /* it is on another node */
    bool asked;   /* a request is on its way */
    int fd;       /* connection of that request, -1 none */
    unsigned got; /* bytes of the answer so far */
    bool answered, ok;
    char answer[CTL_ANSWER_ROOM]; /* where it did not answer: why */
};

struct ctl_question {
    const char *verb;
    bool has_tid;
    uint64_t tid, wait_s;
};

bool ctl_verb_is_legal(const char *verb);

/* Asks all targets, and those that do not answer again until wait_s is over. Every time the request has the same id, so that
 * a process does it once. Sets `answered`, `ok` and `answer` of each. */
void ctl_ask(const char *dir, const struct ctl_question *q, struct ctl_target *t, size_t count);

#endif
