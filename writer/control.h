/* SPDX-License-Identifier: BSD-3-Clause
 * The door of `regtrace ctl`: a Unix socket and request files, answered by the writer for its process.
 *
 * DIR/ctl/NAME.path     two lines: host, path of the socket; NAME = rank-NNNNN.PID
 * DIR/ctl/NAME.sock     the socket (0600), or under /tmp where the path is too long for a socket
 * DIR/ctl/NAME.request  from another node: one request line; removed when taken; the answer is NAME.answer
 *
 * A request is one line: "fire", "fire tid N" or "status"; an answer is one line of JSON with "ok". */
#ifndef REGTRACE_WRITER_CONTROL_H
#define REGTRACE_WRITER_CONTROL_H

#include "base/stream.h"

#include <limits.h>

#define CONTROL_PENDING 64

struct control_pending {
    int fd; /* of the client; -1: answer by file */
    bool used;
    uint32_t target; /* the number of the request */
    int32_t tid;     /* -1: the main thread */
    uint64_t deadline_ns;
};

struct control {
    int listener; /* -1 = none */
    int signal_number;
    uint32_t pid;
    char base[PATH_MAX - 64]; /* DIR/ctl/NAME */
    char socket_path[PATH_MAX];
    struct control_pending pending[CONTROL_PENDING];
};

/* Make the folder, the socket and the .path file. Without them (read-only folder) control is off: no error. */
void control_open(struct control *c, const char *dir, const char *host, int32_t rank, uint32_t pid,
                  int signal_number);
/* Answers what is left. */
void control_close(struct control *c, const struct stream *s);

/* Accept and serve what is waiting; `files`: look for a request file too. `events`: rows so far, for status. */
void control_serve(struct control *c, const struct stream *s, uint64_t events, bool files);

#endif
