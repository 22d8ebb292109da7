/* SPDX-License-Identifier: BSD-3-Clause
 * The door of `regtrace ctl`: a Unix socket and request files, answered by the writer for its process.
 *
 * DIR/ctl/NAME.path     two lines: host, path of the socket; NAME = rank-NNNNN.PID
 * DIR/ctl/NAME.sock     the socket (0600), or under /tmp where the path is too long for a socket
 * DIR/ctl/NAME.request  from another node: one request line; removed when taken; the answer is NAME.answer,
 *                       or NAME.answer-ID where the request has an id
 *
 * A request is one line: VERB ["tid" N] ["id" ID]; VERB is fire, open, close or status. An answer is one line of JSON
 * with "ok". ID is 1 to 16 hexadecimal digits, not 0. A client that got no answer asks again with the same ID: the
 * process does what was asked once, and each of these requests gets the same answer. "queued" in an answer says that
 * the process has not served the request yet. */
#ifndef REGTRACE_WRITER_CONTROL_H
#define REGTRACE_WRITER_CONTROL_H

#include "base/stream.h"

#include <limits.h>

#define CONTROL_PENDING 64
#define CONTROL_CLIENTS 64
#define CONTROL_KNOWN                                                                              \
    256 /* ids that are remembered: at least the requests that fit into a stream */
#define CONTROL_LINE 128
#define CONTROL_ANSWER 320

enum control_kind {
    CONTROL_FIRE = STREAM_REQUEST_FIRE,
    CONTROL_OPEN = STREAM_REQUEST_OPEN,
    CONTROL_CLOSE = STREAM_REQUEST_CLOSE,
    CONTROL_STATUS
};

/* One request as its line says it. */
struct control_request {
    enum control_kind kind;
    int32_t tid; /* -1: none */
    uint64_t id; /* 0: none */
    int fd;      /* of the client; -1: it asked by file */
};

/* A client that waits for what the process answers. */
struct control_pending {
    struct control_request request;
    bool used;
    uint32_t target; /* the number of the request in the stream */
    uint64_t deadline_ns, signal_ns;
};

/* A client that has not sent its whole line yet. */
struct control_client {
    int fd;
    bool used;
    unsigned bytes;
    uint64_t deadline_ns;
    char line[CONTROL_LINE];
};

/* A request with an id, and its answer once the process has given one. */
struct control_known {
    uint64_t id; /* 0: free */
    uint32_t target;
    char answer[CONTROL_ANSWER]; /* "": none yet */
};

struct control {
    int listener; /* -1 = none */
    int signal_number;
    uint32_t pid;
    char base[PATH_MAX - 64]; /* DIR/ctl/NAME */
    char socket_path[PATH_MAX];
    struct control_pending pending[CONTROL_PENDING];
    struct control_client clients[CONTROL_CLIENTS];
    struct control_known known[CONTROL_KNOWN];
    unsigned next_known;
};

/* Make the folder, the socket and the .path file. Without them (read-only folder) control is off: no error. */
void control_open(struct control *c, const char *dir, const char *host, int32_t rank, uint32_t pid,
                  int signal_number);
/* Answers what is left. */
void control_close(struct control *c, const struct stream *s);

/* Accept and serve what is waiting; `files`: look for a request file too. `events`: rows so far, for status. */
void control_serve(struct control *c, const struct stream *s, uint64_t events, bool files);

#endif
